"""Decode the entries of the operation log."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

from ... import limits
from ...digest import DIGEST_SIZE
from ...encoding import unpack
from ...errors import FormatError
from ...objects.operation import MAX_KIND_BYTES
from ...objects.snapshot import MAX_TIME_MS
from ...store.protocol import OperationRow

_FIELD_TYPES = [int, str, str, str, tuple, tuple, int]
_REF_MOVE_TYPES = [str, bytes, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedOperation:
    """A decoded entry of the operation log.

    `refs` are (name, old, new); `files_moved` are the snapshots that the folder was brought
    from and to; `target` is the number of the operation that an undo or redo is about, else 0.
    `time` is in milliseconds since 1970.
    """

    number: int
    id: bytes
    time: int
    author: str
    kind: str
    description: str
    refs: list[tuple[str, bytes, bytes]]
    files_moved: tuple[bytes, bytes]
    target: int


def decode_log_entry(row: OperationRow) -> LoggedOperation:
    """Decode an entry of the operation log. Raises `FormatError` (`bad_operation`)."""
    value = unpack(row.data)
    if not _is_log_entry(value, row.number):
        raise FormatError(
            f"operation {row.number} of the operation log is malformed",
            code="bad_operation",
            hint="run `brain verify`, and restore the folder .brain from a copy",
        )
    time, author, kind, description, refs, files_moved, target = value
    return LoggedOperation(
        number=row.number,
        id=row.id,
        time=time,
        author=author,
        kind=kind,
        description=description,
        refs=list(refs),
        files_moved=files_moved,
        target=target,
    )


def _is_log_entry(value: Any, number: int) -> bool:
    """Tell whether this is an entry as FORMAT.md defines it; its target precedes it."""
    if type(value) is not tuple or list(map(type, value)) != _FIELD_TYPES:
        return False
    time, author, kind, _, refs, moved, target = value
    return (
        0 <= time <= MAX_TIME_MS
        and len(author.encode()) <= limits.MAX_AUTHOR_BYTES
        and 0 < len(kind.encode()) <= MAX_KIND_BYTES
        and all(type(move) is tuple and list(map(type, move)) == _REF_MOVE_TYPES for move in refs)
        and list(map(type, moved)) == [bytes, bytes]
        and {len(side) for side in (*moved, *chain(*(move[1:] for move in refs)))}
        <= {0, DIGEST_SIZE}
        and 0 <= target < number
    )
