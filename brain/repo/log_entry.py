"""Records of the store beside objects: log entries, the pending merge, pending writes."""

from __future__ import annotations

from itertools import chain
from typing import Any

from .. import limits
from ..digest import DIGEST_SIZE, NO_DIGEST
from ..encoding import unpack
from ..errors import BrainError, FormatError, StoreError
from ..named_tuple import NamedTuple
from ..objects import paths
from ..objects.operation import MAX_KIND_BYTES
from ..objects.snapshot import MAX_TIME_MS
from ..objects.tree_node import TreeEntry
from ..store.rows import OperationRow, PendingWrite
from .session import BrainState, Session

_FIELD_TYPES = [int, str, str, str, tuple, tuple, int]
_REF_MOVE_TYPES = [str, bytes, bytes]


class LoggedOperation(NamedTuple):
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
    refs: tuple[tuple[str, bytes, bytes], ...]
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
    return LoggedOperation(row.number, row.id, *value)


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


MERGE_STATE_KEY = "merge"
"""The store's key for the state; its value is empty while no merge is pending."""

ACCEPT_COMMAND = "accept"


class ConflictRow(NamedTuple):
    """A conflict; build it by keyword. A blob is b"" where a side has no file.

    `choice` is "" while the conflict is open, one of MERGE_CHOICES, or "content" for the
    content of the blob `chosen`. `our_path` is where our side has it, "" for `path`.
    """

    path: str
    reason: str
    base: bytes
    ours: bytes
    theirs: bytes
    choice: str = ""
    chosen: bytes = b""
    our_path: str = ""


class MergeState(NamedTuple):
    """A pending merge; build it by keyword.

    `theirs` is the snapshot that is merged into `branch`, and `revision` is how the user
    named it. `command` began the merge: "merge", or ACCEPT_COMMAND for a proposal.
    """

    theirs: bytes
    revision: str
    branch: str
    message: str
    rows: tuple[ConflictRow, ...] = ()
    command: str = "merge"


def load_merge_state(session: Session) -> MergeState | None:
    """Return the pending merge, or None. Raises `StoreError` if its record is damaged."""
    data = session.reader.read_meta(MERGE_STATE_KEY)
    if not data:
        return None
    try:
        return _decode_merge_state(unpack(data))
    except (TypeError, ValueError, BrainError) as error:
        raise StoreError(
            "the record of the pending merge is damaged",
            hint="restore the folder .brain from a copy",
        ) from error


def _decode_merge_state(value: Any) -> MergeState:
    if len(value) not in (5, 6):
        raise ValueError("a wrong number of fields")
    fields = (*value, "merge")[:6]  # early records lack the command
    state = MergeState(*fields)
    rows = [(*row, "")[:8] for row in state.rows]  # early records lack our path
    state = state._replace(rows=tuple(ConflictRow(*row) for row in rows))
    texts = state.revision, state.branch, state.message, state.command
    if type(state.theirs) is not bytes or {*map(type, texts)} != {str}:
        raise ValueError("a field has a wrong type")
    for row in state.rows:
        blobs = row.base, row.ours, row.theirs, row.chosen
        if {type(row.path), type(row.reason), type(row.choice), type(row.our_path)} != {str}:
            raise ValueError("a field has a wrong type")
        if not all(type(blob) is bytes and len(blob) in (0, DIGEST_SIZE) for blob in blobs):
            raise ValueError("a blob id has a wrong length")
        paths.check_path(row.path)
    return state


def check_against_head(
    session: Session, rows: list[PendingWrite], head: bytes = NO_DIGEST
) -> tuple[list[tuple[PendingWrite, TreeEntry | None]], list[str]]:
    """Compare pending writes with the head of the folder, so that no row adds another file.

    Returns those that agree, each with the head's entry, and the paths of the others. `head` is
    that snapshot if the caller has it, else it is looked up.
    """
    writes: list[tuple[PendingWrite, TreeEntry | None]] = []
    not_in_head: list[str] = []
    state = session.state_of(head or session.folder_head()) if rows else BrainState(session)
    for row in rows:
        entry = state.get(row.path)
        recorded = (entry.kind, entry.blob) if entry else (0, NO_DIGEST)
        if recorded == (row.kind, row.blob):
            writes.append((row, entry))
        else:
            not_in_head.append(row.path)
    return writes, not_in_head
