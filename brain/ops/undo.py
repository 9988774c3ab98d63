"""Undo and redo by the operation log.

An undo moves the branch back to the snapshot before an operation, and restores the files
that the operation wrote; the undo of a switch goes back to the branch before it. It is an
operation of its own, so nothing is lost: redo undoes an undo. `brain snapshot` writes no
files, so undoing it leaves the folder as it is, but for deleted files, which come back.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from ..digest import NO_DIGEST
from ..errors import Conflict, NotFound, printable_text
from ..objects import bundle as bundles
from ..objects import paths
from ..objects.bundle import Edits
from ..objects.collisions import require_portable
from ..repo import working_copy
from ..repo.log_entry import LoggedOperation, decode_log_entry
from ..repo.revisions import DROP_KIND
from ..repo.session import Session, head_ref
from ..repo.transaction import (
    add_pending_writes,
    apply_pending_writes,
    lock_for_writing,
    log_operation,
    store_transaction,
)
from ..results import Operation, Undone
from ..store.reader import StoreReader
from ..store.writer import StoreTransaction
from ..util.utc_time import utc_time
from . import merge_state

_BRANCH_REF_PREFIX = head_ref("")
_RefMove = tuple[str, bytes, bytes]
"""A ref and its snapshots before and after."""
_KINDS_WITH_VERSIONS = ("upsert", "revert", "absorb", "rename")
"""Kinds of operations that write one skill."""
_KINDS_OF_ANY_BRANCH = ("branch", "switch")
"""Kinds of operations that may be about other branches and are undone nevertheless."""


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


def undo_operation(session: Session) -> Undone:
    """Undo the last operation, not one on another branch.

    Raises `NotFound` (`nothing_to_undo`), or `Conflict`: `unrecorded_changes` if a file to
    restore was changed since, `redacted` for a redaction.
    """
    with lock_for_writing(session):
        with store_transaction(session) as tx:
            current = head_ref(session.current_branch())
            entry = _find_operation_to_undo(tx, current)
            step = _Step("undo", entry, *_reverse(tx, entry))
            writes = _apply_step(session, tx, step)
            undone = _describe_step(session, entry, writes)
        apply_pending_writes(session, writes)
    return undone


def redo_operation(session: Session) -> Undone:
    """Redo the operation that was undone last.

    Raises `NotFound` (`nothing_to_redo`), or `Conflict` as `undo`.
    """
    with lock_for_writing(session):
        with store_transaction(session) as tx:
            entry = _find_operation_to_redo(tx, head_ref(session.current_branch()))
            step = _Step("redo", entry, _update_moves(tx, entry), entry.files_moved)
            writes = _apply_step(session, tx, step)
            redone = _describe_step(session, entry, writes)
        apply_pending_writes(session, writes)
    return redone


class _Step(NamedTuple):
    """An undo or a redo: the operation, the moves of refs, and the files from and to."""

    kind: str
    entry: LoggedOperation
    refs: list[_RefMove]
    files_moved: tuple[bytes, bytes]

    @property
    def is_switch(self) -> bool:
        """True if another branch becomes the current one: that of the last ref."""
        return self.entry.kind == "switch"


def _reverse(
    reader: StoreReader, entry: LoggedOperation
) -> tuple[list[_RefMove], tuple[bytes, bytes]]:
    old, new = entry.files_moved
    moves = [(name, now, before) for name, before, now in reversed(_update_moves(reader, entry))]
    return moves, (new, old)


def _update_moves(reader: StoreReader, entry: LoggedOperation) -> list[_RefMove]:
    """Return the moves of an operation; a branch that a switch did not move may have moved since.

    Raises `NotFound` (`no_branch`) if such a branch was deleted.
    """
    if entry.kind != "switch":
        return entry.refs
    moves = []
    for name, before, now in entry.refs:
        head = reader.read_ref(name)
        if head is None:
            raise NotFound(
                f"there is no branch {_ref_text(name)}",
                code="no_branch",
                hint="`brain branch` lists the branches",
            )
        moves.append((name, head, head) if before == now else (name, before, now))
    return moves


def _iter_operations_in_force(reader: StoreReader) -> Iterator[LoggedOperation]:
    """Yield the operations that are in force, the last one first.

    An undo and a redo are in the log themselves, each with the operation it is about: the
    last of them decides. An operation that was done again counts from then on.
    """
    decided: set[int] = set()
    for row in reader.stream_operations():
        entry = decode_log_entry(row)
        if entry.kind == "undo":
            decided.add(entry.target)
        elif entry.kind == "redo" and entry.target not in decided:
            decided.add(entry.target)
            yield decode_log_entry(reader.read_operation(entry.target))
        elif entry.kind != "redo" and entry.number not in decided:
            yield entry


def _find_operation_to_undo(reader: StoreReader, current: str) -> LoggedOperation:
    for entry in _iter_operations_in_force(reader):
        if entry.number > 1 and entry.refs and not _is_off_branch(entry, current):
            return _require_reversible(entry)
    raise NotFound(
        "there is nothing to undo",
        code="nothing_to_undo",
        hint="`brain op log` lists what was done",
    )


def _is_off_branch(entry: LoggedOperation, current: str) -> bool:
    """Tell whether an operation moved other branches alone, or dropped old rejected attempts."""
    if entry.kind in _KINDS_OF_ANY_BRANCH:
        return False
    branches = [name for name, _, _ in entry.refs if name.startswith(_BRANCH_REF_PREFIX)]
    return entry.kind == DROP_KIND or (bool(branches) and current not in branches)


def _ref_text(ref: str) -> str:
    return printable_text(ref.removeprefix(_BRANCH_REF_PREFIX), 80)


def _require_reversible(entry: LoggedOperation) -> LoggedOperation:
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
        elif entry.refs and not _is_off_branch(entry, current):
            break
    raise NotFound(
        "there is nothing to redo: nothing was undone last",
        code="nothing_to_redo",
        hint="`brain op log` lists what was done",
    )


def _apply_step(session: Session, tx: StoreTransaction, step: _Step) -> Edits:
    """Move refs and add pending writes for the files of the current branch."""
    current = head_ref(session.current_branch())
    wanted = {*step.files_moved, *(new for _, _, new in step.refs)} - {NO_DIGEST}
    if tx.find_missing(wanted):
        raise NotFound(
            f"{step.kind} needs a snapshot that `brain gc` removed",
            code="collected",
            hint="`brain gc --grace DAYS` keeps what was undone for longer",
        )
    moved = _switch_files(session, tx, step, current) if step.is_switch else step.files_moved
    for name, old, new in step.refs:
        if name == current and not new:
            raise Conflict(
                f"{step.kind} would delete the current branch",
                code="current_branch",
                hint="switch to another branch first",
            )
        tx.update_ref(name, old or None, new or None)
    is_current = any(name == current for name, _, _ in step.refs)
    writes: Edits = {}
    if is_current and moved[0]:
        writes = _compute_writes(session, tx, *moved)
    elif is_current and step.entry.kind == "snapshot":
        writes = _compute_deletions(session, tx, step, current)
    description = f"{step.kind} {step.entry.description}"
    log_operation(
        session, tx, step.kind, description, step.refs, step.files_moved, target=step.entry.number
    )
    add_pending_writes(session, tx, writes)
    return writes


def _switch_files(
    session: Session, tx: StoreTransaction, step: _Step, current: str
) -> tuple[bytes, bytes]:
    """Make the branch of the last ref current; return the snapshots of its files from and to.

    What the switch recorded of the folder, the branch it left has no more after an undo; the
    folder has it still, as before the switch.
    """
    merge_state.refuse_during_merge(session)
    (left, before, now), (entered, was, after) = step.refs[0], step.refs[-1]
    if left != current:
        raise Conflict(
            f"{_ref_text(left)} is not the current branch",
            code="other_branch",
            hint=f"switch to it with `brain switch {_ref_text(left)}`",
        )
    tx.write_meta("branch", entered.removeprefix(_BRANCH_REF_PREFIX).encode())
    return (before, was) if step.kind == "undo" else (now, after)


def _compute_writes(session: Session, tx: StoreTransaction, from_: bytes, to: bytes) -> Edits:
    before, after = session.bundle_of(from_), session.bundle_of(to)
    writes = {path: now for path, _, now in bundles.diff_bundles(session.nodes, before, after)}
    redacted = working_copy.find_redacted_paths(session, writes.values())
    writes.update(dict.fromkeys(redacted))
    require_portable(session.nodes, session.reader, before, after, writes)
    manual_edits = working_copy.store_edits_at(session, tx, before, writes)
    if manual_edits:
        raise Conflict(
            working_copy.describe_unrecorded(manual_edits),
            code="unrecorded_changes",
            hint="record them with `brain snapshot`, or discard them with `brain restore @`",
        )
    return writes


def _compute_deletions(session: Session, tx: StoreTransaction, step: _Step, current: str) -> Edits:
    """Return the writes that bring back the files whose deletion a snapshot recorded.

    A redo deletes them again. A file that the folder has otherwise by now stays, and one that
    was renamed is there under its new name.
    """
    from . import diff

    from_, to = next((old, new) for name, old, new in step.refs if name == current)
    before, after = session.bundle_of(from_), session.bundle_of(to)
    older, newer = (after, before) if step.kind == "undo" else (before, after)
    changes = diff.diff_bundles(session, ("", older), ("", newer)).changes
    writes: Edits = {
        change.path: bundles.get_entry(session.nodes, after, change.path)
        for change in changes
        if change.change == "removed" and not _is_occupied(session, change.path)
    }
    redacted = working_copy.find_redacted_paths(session, writes.values())
    edited = working_copy.store_edits_at(session, tx, before, writes)
    writes = {
        path: entry for path, entry in writes.items() if path not in redacted and path not in edited
    }
    require_portable(session.nodes, session.reader, bundles.EMPTY_BUNDLE, after, writes)
    return writes


def _is_occupied(session: Session, path: str) -> bool:
    """Tell whether a folder is at `path`, or a file where a folder above it was."""
    folders = [session.root / folder for folder in paths.folders_above(path)]
    above_is_file = any(os.path.lexists(folder) and not folder.is_dir() for folder in folders)
    return above_is_file or (session.root / path).is_dir()


def _describe_step(session: Session, entry: LoggedOperation, writes: Edits) -> Undone:
    branch = session.current_branch()
    head = session.bundle_of(session.head())
    absent = [path for path, now in writes.items() if now is None]
    redacted = {path for path in absent if bundles.has_entry(session.nodes, head, path)}
    branches = [name for name, _, _ in entry.refs if name.startswith(_BRANCH_REF_PREFIX)]
    if entry.kind != "switch" and branches and head_ref(branch) not in branches:
        branch = branches[0].removeprefix(_BRANCH_REF_PREFIX)
    return Undone(
        snapshot=session.head().hex(),
        written=sorted(path for path, now in writes.items() if now is not None),
        removed=sorted(set(absent) - redacted),
        redacted=sorted(redacted),
        operation=entry.number,
        kind=entry.kind,
        description=_describe_operation(session, entry),
        branch=branch,
    )


def _describe_operation(session: Session, entry: LoggedOperation) -> str:
    """Return what an operation did, with the versions of the skill that it wrote."""
    operation = session.load_snapshot(entry.refs[0][2]).operation if entry.refs[0][2] else ("",)
    if entry.kind not in _KINDS_WITH_VERSIONS or operation[0] not in ("upsert", "absorb"):
        return entry.description
    from_version, to_version = operation[2:4]
    versions = f"{from_version} → {to_version}" if from_version else f"at version {to_version}"
    return f"{entry.description} {versions}"
