"""Undo and redo: the operation log walked back and forth.

An undo brings the branch back to where it stood before an operation, and the
files that operation wrote to what they were. It does so as an operation of its
own, so nothing is ever lost: redo is the undo of an undo. Recording the folder
wrote no files, so undoing a snapshot leaves the folder as it is.
"""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

from .. import limits
from ..digest import EMPTY, SIZE
from ..encoding import unpack
from ..errors import Conflict, FormatError, NotFound, printable
from ..objects import bundle as bundles
from ..objects.entry import Entry
from ..objects.operation import MAX_KIND_BYTES
from ..objects.snapshot import MAX_TIME
from ..results import Operation, Restored
from ..session import Session, head_ref
from ..store.protocol import OperationRow, Reader, Transaction
from . import folder
from .announced import announce, apply
from .branches import PROPOSALS
from .holdable import refuse_unholdable
from .restore import restored
from .turn import locked, log_operation, transaction

_TYPES = [int, str, str, str, tuple, tuple, int]
_MOVE = [str, bytes, bytes]


class Record(NamedTuple):
    """An entry of the operation log, decoded; `refs` are (name, old, new)."""

    number: int
    id: bytes
    time: int
    author: str
    kind: str
    description: str
    refs: list[tuple[str, bytes, bytes]]
    moved: tuple[bytes, bytes]
    target: int


def decode(row: OperationRow) -> Record:
    """Decode an entry of the operation log. Raises `FormatError` (`bad_operation`)."""
    value = unpack(row.data)
    if not _is_record(value, row.number):
        raise FormatError(f"operation {row.number} is malformed", code="bad_operation")
    time, author, kind, description, refs, moved, target = value
    return Record(row.number, row.id, time, author, kind, description, list(refs), moved, target)


def _is_record(value: Any, number: int) -> bool:
    """Tell whether this is an entry as FORMAT.md has it; what is undone came before."""
    if type(value) is not tuple or list(map(type, value)) != _TYPES:
        return False
    time, author, kind, _, refs, moved, target = value
    return (
        0 <= time <= MAX_TIME
        and len(author.encode()) <= limits.MAX_AUTHOR_BYTES
        and 0 < len(kind.encode()) <= MAX_KIND_BYTES
        and all(type(move) is tuple and list(map(type, move)) == _MOVE for move in refs)
        and list(map(type, moved)) == [bytes, bytes]
        and {len(side) for side in (*moved, *chain(*(move[1:] for move in refs)))} <= {0, SIZE}
        and 0 <= target < number
    )


def operations(session: Session, limit: int | None = None) -> list[Operation]:
    """Return the operation log, newest first."""
    out: list[Operation] = []
    for row in session.reader.operations():
        if limit is not None and len(out) >= limit:
            break
        record = decode(row)
        refs = {name: [old.hex(), new.hex()] for name, old, new in record.refs}
        out.append(
            Operation(
                record.id.hex(),
                record.number,
                record.time,
                record.author,
                record.kind,
                record.description,
                refs,
            )
        )
    return out


def undo(session: Session) -> Restored:
    """Take the last operation back.

    Raises `NotFound` (`nothing_to_undo`), or `Conflict`: `unrecorded_changes` if a file
    to be put back was changed since, `other_branch` if the work recorded when a branch was
    left would then be neither there nor in the folder.
    """
    with locked(session):
        with transaction(session) as tx:
            record = _to_undo(tx, head_ref(session.branch()))
            old, new = record.moved
            refs = [(name, now, before) for name, before, now in record.refs]
            writes = _move(session, tx, "undo", record, refs, (new, old))
            head = session.head()
        apply(session, writes)
    return restored(head, writes)


def redo(session: Session) -> Restored:
    """Do again what the last undo took back.

    Raises `NotFound` (`nothing_to_redo`), or `Conflict` as `undo`.
    """
    with locked(session):
        with transaction(session) as tx:
            record = _to_redo(tx, head_ref(session.branch()))
            writes = _move(session, tx, "redo", record, record.refs, record.moved)
            head = session.head()
        apply(session, writes)
    return restored(head, writes)


def _to_undo(reader: Reader, current: str) -> Record:
    number = reader.operation_count()
    while number > 1:
        record = decode(reader.operation(number))
        if record.kind == "undo":
            number = record.target - 1
        elif record.kind == "redo":
            number = record.target
            if decode(reader.operation(number)).kind != "redo":
                return decode(reader.operation(number))
        elif not record.refs or _is_proposed(record, current):
            number -= 1  # a switch of branches, or what an agent proposed meanwhile
        else:
            return _reversible(record, current)
    raise NotFound("nothing to undo", code="nothing_to_undo", hint="see `brain op log`")


def _is_proposed(record: Record, current: str) -> bool:
    """Tell whether an operation only wrote to a proposal; `reject` takes that back."""
    names = [name for name, _, _ in record.refs]
    beside = all(name.startswith(PROPOSALS) and name != current for name in names)
    return beside and record.kind not in ("branch", "undo", "redo")


def _reversible(record: Record, current: str) -> Record:
    names = [name for name, _, _ in record.refs]
    if record.kind == "switch" and current not in names:
        left = printable(names[0].removeprefix(head_ref("")))
        raise Conflict(
            f"what was changed by hand on {left} was recorded as it was left, and would be nowhere",
            code="other_branch",
            hint=f"go back to it with `brain switch {left}`",
        )
    if record.kind == "redact":
        raise Conflict(
            "what was redacted is gone for good, and that it was stays recorded",
            code="redacted",
            hint="bring other files back with `brain restore REV PATH`",
        )
    return record


def _to_redo(reader: Reader, current: str) -> Record:
    """Find what the undos at the end of the log took back and no redo brought again."""
    redone = 0
    for row in reader.operations():
        record = decode(row)
        if record.kind == "redo":
            redone += 1
        elif record.kind == "undo":
            if redone == 0:
                return decode(reader.operation(record.target))
            redone -= 1
        elif record.refs and not _is_proposed(record, current):
            break
    raise NotFound("nothing to redo", code="nothing_to_redo", hint="see `brain op log`")


def _move(
    session: Session,
    tx: Transaction,
    kind: str,
    record: Record,
    refs: list[tuple[str, bytes, bytes]],
    moved: tuple[bytes, bytes],
) -> dict[str, Entry | None]:
    """Move refs and announce the files to write, from one snapshot's to another's.

    The folder is that of the current branch; refs of others move without it.
    """
    current = head_ref(session.branch())
    wanted = {*moved, *(new for _, _, new in refs)} - {EMPTY}
    if tx.missing(wanted):
        raise NotFound(
            f"{kind} would lead to a snapshot that was removed",
            code="collected",
            hint="`brain gc` removes what no branch holds, once its grace period is over",
        )
    for name, old, new in refs:
        if name == current and not new:
            raise Conflict(
                f"{kind} would remove the current branch",
                code="current_branch",
                hint="switch to another one first",
            )
        tx.set_ref(name, old or None, new or None)
    here = any(name == current for name, _, _ in refs)
    writes = _writes(session, tx, *moved) if moved[0] and here else {}
    log_operation(
        session, tx, kind, f"{kind} {record.description}", refs, moved, target=record.number
    )
    announce(session, tx, writes)
    return writes


def _writes(session: Session, tx: Transaction, from_: bytes, to: bytes) -> dict[str, Entry | None]:
    was, will = session.bundle_of(from_), session.bundle_of(to)
    found = list(bundles.compare(session.nodes, was, will))
    refuse_unholdable(session, was, will, {path: now for path, _, now in found})
    touched = folder.edits_at(session, tx, was, [difference.path for difference in found])
    if touched:
        names = ", ".join(map(printable, sorted(touched)[:5]))
        raise Conflict(
            f"changed since, and recorded nowhere: {names}",
            code="unrecorded_changes",
            hint="record them with `brain snapshot`, or bring them back with `brain restore @`",
        )
    return {difference.path: difference.after for difference in found}
