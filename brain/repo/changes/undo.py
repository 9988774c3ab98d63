"""Undo and redo by the operation log.

An undo moves the branch back to the snapshot before an operation, and restores the files
that the operation wrote. It is an operation of its own, so nothing is lost: redo undoes an
undo. `brain snapshot` writes no files, so undoing it leaves the folder as it is.
"""

from __future__ import annotations

from collections.abc import Callable

from ...digest import NO_DIGEST
from ...errors import Conflict, NotFound, printable_text
from ...objects import bundle as bundles
from ...objects.bundle import Edits
from ...results import Operation, Restored
from ...store.protocol import StoreReader, StoreTransaction
from ...util.utc_time import utc_time
from ..core import working_copy
from ..core.path_collisions import refuse_invalid_edits
from ..core.pending_writes import add_pending_writes, apply_pending_writes
from ..core.transaction import lock_for_writing, log_operation, store_transaction
from ..merge.branches import PROPOSAL_REF_PREFIX
from ..open.session import Session, head_ref
from ..read.operation_entry import LoggedOperation, decode_log_entry
from .restore import build_restore_result


def list_operations(session: Session, limit: int | None = None) -> list[Operation]:
    """Return the operation log, newest first."""
    out: list[Operation] = []
    for row in session.reader.stream_operations():
        if limit is not None and len(out) >= limit:
            break
        entry = decode_log_entry(row)
        refs = {name: [old.hex(), new.hex()] for name, old, new in entry.refs}
        out.append(
            Operation(
                operation=entry.id.hex(),
                number=entry.number,
                time=utc_time(entry.time),
                author=entry.author,
                kind=entry.kind,
                description=entry.description,
                refs=refs,
            )
        )
    return out


def undo_operation(session: Session) -> Restored:
    """Undo the last operation.

    Raises `NotFound` (`nothing_to_undo`), or `Conflict`: `unrecorded_changes` if a file to
    restore was changed since; `other_branch` if manual edits, which a switch recorded on
    another branch, would be lost.
    """
    return _reverse(session, "undo", _find_operation_to_undo)


def redo_operation(session: Session) -> Restored:
    """Redo the operation of the last undo.

    Raises `NotFound` (`nothing_to_redo`), or `Conflict` as `undo_operation`.
    """
    return _reverse(session, "redo", _find_operation_to_redo)


def _reverse(
    session: Session, kind: str, find: Callable[[StoreReader, str], LoggedOperation]
) -> Restored:
    with lock_for_writing(session):
        with store_transaction(session) as tx:
            entry = find(tx, head_ref(session.current_branch()))
            refs, (old, new) = entry.refs, entry.files_moved
            if kind == "undo":
                refs, old, new = [(name, now, before) for name, before, now in refs], new, old
            writes = _move_refs(session, tx, kind, entry, refs, (old, new))
            head = session.head()
        apply_pending_writes(session, writes)
    return build_restore_result(head, writes)


def _find_operation_to_undo(reader: StoreReader, current: str) -> LoggedOperation:
    """Return the last operation that is in force: neither undone nor an undo itself.

    An undo in the log skips to before its target, a redo to what it did again.
    """
    number = reader.operation_count()
    while number > 1:
        entry = decode_log_entry(reader.read_operation(number))
        if entry.kind == "undo":
            number = entry.target - 1
        elif entry.kind == "redo":
            number = entry.target
            if decode_log_entry(reader.read_operation(number)).kind != "redo":
                return decode_log_entry(reader.read_operation(number))
        elif not entry.refs or _is_proposal_only(entry, current):
            number -= 1  # a switch without manual edits, or a write to a proposal
        else:
            return _require_reversible(entry, current)
    raise NotFound("nothing to undo", code="nothing_to_undo", hint="see `brain op log`")


def _is_proposal_only(entry: LoggedOperation, current: str) -> bool:
    """Tell whether an operation wrote to proposals alone, which are undone by rejecting them."""
    refs = [name for name, _, _ in entry.refs]
    is_proposal = all(ref.startswith(PROPOSAL_REF_PREFIX) and ref != current for ref in refs)
    return is_proposal and entry.kind not in ("branch", "undo", "redo")


def _require_reversible(entry: LoggedOperation, current: str) -> LoggedOperation:
    names = [name for name, _, _ in entry.refs]
    if entry.kind == "switch" and current not in names:
        branch = printable_text(names[0].removeprefix(head_ref("")))
        raise Conflict(
            f"manual edits that the switch recorded on {branch} would be lost",
            code="other_branch",
            hint=f"switch back to it with `brain switch {branch}`",
        )
    if entry.kind == "redact":
        raise Conflict(
            "a redaction cannot be undone: the content is destroyed",
            code="redacted",
            hint="restore other files with `brain restore REV PATH`",
        )
    return entry


def _find_operation_to_redo(reader: StoreReader, current: str) -> LoggedOperation:
    """Return the last undone operation that was not redone, if nothing was recorded since."""
    redone = 0
    for row in reader.stream_operations():
        entry = decode_log_entry(row)
        if entry.kind == "redo":
            redone += 1
        elif entry.kind == "undo":
            if redone == 0:
                return decode_log_entry(reader.read_operation(entry.target))
            redone -= 1
        elif entry.refs and not _is_proposal_only(entry, current):
            break
    raise NotFound("nothing to redo", code="nothing_to_redo", hint="see `brain op log`")


def _move_refs(
    session: Session,
    tx: StoreTransaction,
    kind: str,
    entry: LoggedOperation,
    refs: list[tuple[str, bytes, bytes]],
    moved: tuple[bytes, bytes],
) -> Edits:
    """Move refs and add pending writes for the files that differ between the snapshots `moved`.

    Files are written for the current branch only.
    """
    current = head_ref(session.current_branch())
    wanted = {*moved, *(new for _, _, new in refs)} - {NO_DIGEST}
    if tx.find_missing(wanted):
        raise NotFound(
            f"{kind} needs a snapshot that was garbage-collected",
            code="collected",
            hint="`brain gc` removes unreachable snapshots after a grace period",
        )
    for name, old, new in refs:
        if name == current and not new:
            raise Conflict(
                f"{kind} would delete the current branch",
                code="current_branch",
                hint="switch to another branch first",
            )
        tx.update_ref(name, old or None, new or None)
    is_current = any(name == current for name, _, _ in refs)
    writes = _compute_writes(session, tx, *moved) if moved[0] and is_current else {}
    log_operation(
        session, tx, kind, f"{kind} {entry.description}", refs, moved, target=entry.number
    )
    add_pending_writes(session, tx, writes)
    return writes


def _compute_writes(session: Session, tx: StoreTransaction, from_: bytes, to: bytes) -> Edits:
    before, after = session.bundle_of(from_), session.bundle_of(to)
    writes = {path: now for path, _, now in bundles.diff_bundles(session.nodes, before, after)}
    refuse_invalid_edits(session, before, after, writes)
    manual_edits = working_copy.store_edits_at(session, tx, before, writes)
    if manual_edits:
        raise Conflict(
            working_copy.describe_unrecorded(manual_edits),
            code="unrecorded_changes",
            hint="record them with `brain snapshot`, or discard them with `brain restore @`",
        )
    return writes
