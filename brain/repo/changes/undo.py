"""Undo and redo operations, by the operation log.

An undo brings the branch back to where it stood before an operation, and the
files that operation wrote to what they were. It does so as an operation of its
own, so nothing is ever lost: redo is the undo of an undo. Recording the folder
wrote no files, so undoing a snapshot leaves the folder as it is.
"""

from __future__ import annotations

from ...digest import NO_DIGEST
from ...errors import Conflict, NotFound, printable_text
from ...objects import bundle as bundles
from ...objects.tree_entry import TreeEntry
from ...results import Operation, Restored
from ...store.protocol import StoreReader, StoreTransaction
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
        log_entry = decode_log_entry(row)
        refs = {name: [old.hex(), new.hex()] for name, old, new in log_entry.refs}
        out.append(
            Operation(
                log_entry.id.hex(),
                log_entry.number,
                log_entry.time,
                log_entry.author,
                log_entry.kind,
                log_entry.description,
                refs,
            )
        )
    return out


def undo_operation(session: Session) -> Restored:
    """Take the last operation back.

    Raises `NotFound` (`nothing_to_undo`), or `Conflict`: `unrecorded_changes` if a file
    to be put back was changed since, `other_branch` if the work recorded when a branch was
    left would then be neither there nor in the folder.
    """
    with lock_for_writing(session):
        with store_transaction(session) as tx:
            log_entry = _find_operation_to_undo(tx, head_ref(session.current_branch()))
            old, new = log_entry.files_moved
            refs = [(name, now, before) for name, before, now in log_entry.refs]
            writes = _move_refs(session, tx, "undo", log_entry, refs, (new, old))
            head = session.head()
        apply_pending_writes(session, writes)
    return build_restore_result(head, writes)


def redo_operation(session: Session) -> Restored:
    """Do again what the last undo took back.

    Raises `NotFound` (`nothing_to_redo`), or `Conflict` as `undo`.
    """
    with lock_for_writing(session):
        with store_transaction(session) as tx:
            log_entry = _find_operation_to_redo(tx, head_ref(session.current_branch()))
            writes = _move_refs(
                session, tx, "redo", log_entry, log_entry.refs, log_entry.files_moved
            )
            head = session.head()
        apply_pending_writes(session, writes)
    return build_restore_result(head, writes)


def _find_operation_to_undo(reader: StoreReader, current: str) -> LoggedOperation:
    number = reader.operation_count()
    while number > 1:
        log_entry = decode_log_entry(reader.read_operation(number))
        if log_entry.kind == "undo":
            number = log_entry.target - 1
        elif log_entry.kind == "redo":
            number = log_entry.target
            if decode_log_entry(reader.read_operation(number)).kind != "redo":
                return decode_log_entry(reader.read_operation(number))
        elif not log_entry.refs or _is_proposal_only(log_entry, current):
            number -= 1  # a switch of branches, or what an agent proposed meanwhile
        else:
            return _require_reversible(log_entry, current)
    raise NotFound("nothing to undo", code="nothing_to_undo", hint="see `brain op log`")


def _is_proposal_only(log_entry: LoggedOperation, current: str) -> bool:
    """Tell whether an operation only wrote to a proposal; `reject` takes that back."""
    names = [name for name, _, _ in log_entry.refs]
    beside = all(name.startswith(PROPOSAL_REF_PREFIX) and name != current for name in names)
    return beside and log_entry.kind not in ("branch", "undo", "redo")


def _require_reversible(log_entry: LoggedOperation, current: str) -> LoggedOperation:
    names = [name for name, _, _ in log_entry.refs]
    if log_entry.kind == "switch" and current not in names:
        left = printable_text(names[0].removeprefix(head_ref("")))
        raise Conflict(
            f"what was changed by hand on {left} was recorded as it was left, and would be nowhere",
            code="other_branch",
            hint=f"go back to it with `brain switch {left}`",
        )
    if log_entry.kind == "redact":
        raise Conflict(
            "what was redacted is gone for good, and that it was stays recorded",
            code="redacted",
            hint="bring other files back with `brain restore REV PATH`",
        )
    return log_entry


def _find_operation_to_redo(reader: StoreReader, current: str) -> LoggedOperation:
    """Find what the undos at the end of the log took back and no redo brought again."""
    redone = 0
    for row in reader.stream_operations():
        log_entry = decode_log_entry(row)
        if log_entry.kind == "redo":
            redone += 1
        elif log_entry.kind == "undo":
            if redone == 0:
                return decode_log_entry(reader.read_operation(log_entry.target))
            redone -= 1
        elif log_entry.refs and not _is_proposal_only(log_entry, current):
            break
    raise NotFound("nothing to redo", code="nothing_to_redo", hint="see `brain op log`")


def _move_refs(
    session: Session,
    tx: StoreTransaction,
    kind: str,
    log_entry: LoggedOperation,
    refs: list[tuple[str, bytes, bytes]],
    moved: tuple[bytes, bytes],
) -> dict[str, TreeEntry | None]:
    """Move refs and announce the files to write, from one snapshot's to another's.

    The folder is that of the current branch; refs of others move without it.
    """
    current = head_ref(session.current_branch())
    wanted = {*moved, *(new for _, _, new in refs)} - {NO_DIGEST}
    if tx.find_missing(wanted):
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
        tx.update_ref(name, old or None, new or None)
    here = any(name == current for name, _, _ in refs)
    writes = _compute_writes(session, tx, *moved) if moved[0] and here else {}
    log_operation(
        session, tx, kind, f"{kind} {log_entry.description}", refs, moved, target=log_entry.number
    )
    add_pending_writes(session, tx, writes)
    return writes


def _compute_writes(
    session: Session, tx: StoreTransaction, from_: bytes, to: bytes
) -> dict[str, TreeEntry | None]:
    was, will = session.bundle_of(from_), session.bundle_of(to)
    found = list(bundles.diff_bundles(session.nodes, was, will))
    refuse_invalid_edits(session, was, will, {path: now for path, _, now in found})
    touched = working_copy.store_edits_at(
        session, tx, was, [difference.path for difference in found]
    )
    if touched:
        names = ", ".join(map(printable_text, sorted(touched)[:5]))
        raise Conflict(
            f"changed since, and recorded nowhere: {names}",
            code="unrecorded_changes",
            hint="record them with `brain snapshot`, or bring them back with `brain restore @`",
        )
    return {difference.path: difference.after for difference in found}
