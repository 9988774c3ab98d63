"""Undo and redo by the operation log.

An undo moves the branch back to the snapshot before an operation, and restores the files
that the operation wrote; the undo of a switch goes back to the branch before it. It is an
operation of its own, so nothing is lost: redo undoes an undo. `brain snapshot` writes no
files, so undoing it leaves the folder as it is, but for deleted files, which come back.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice

from ..digest import NO_DIGEST
from ..errors import Conflict, NotFound, printable_text
from ..objects.bundle import Edits
from ..objects.collisions import require_portable
from ..objects.paths import folders_above
from ..repo import working_copy
from ..repo.log_entry import LoggedOperation, decode_log_entry
from ..repo.session import DROP_KIND, BrainState, Session, head_ref
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
_KINDS_WITH_VERSIONS = ("upsert", "revert", "absorb", "rename")
"""Kinds of operations that write one skill."""
_KINDS_OF_ANY_BRANCH = ("branch", "switch")
"""Kinds of operations that may be about other branches and are undone nevertheless."""


def list_operations(session: Session, limit: int | None = None) -> list[Operation]:
    """Return the operation log, newest first."""
    entries = map(decode_log_entry, session.reader.stream_operations())
    return [
        Operation(
            operation=entry.id.hex(),
            number=entry.number,
            time=utc_time(entry.time),
            author=entry.author,
            kind=entry.kind,
            description=entry.description,
            refs={name: [old.hex(), new.hex()] for name, old, new in entry.refs},
        )
        for entry in islice(entries, None if limit is None else max(limit, 0))
    ]


def undo(session: Session) -> Undone:
    """Undo the last operation, not one on another branch.

    Raises `NotFound` (`nothing_to_undo`), or `Conflict`: `unrecorded_changes` if a file to
    restore was changed since, `redacted` for a redaction.
    """
    return _take_step(session, "undo")


def redo(session: Session) -> Undone:
    """Redo the operation that was undone last.

    Raises `NotFound` (`nothing_to_redo`), or `Conflict` as `undo`.
    """
    return _take_step(session, "redo")


def _take_step(session: Session, kind: str) -> Undone:
    with lock_for_writing(session):
        with store_transaction(session) as tx:
            step = _Step(session, tx, kind)
            writes = step.record()
            undone = step.describe(writes)
        apply_pending_writes(session, writes)
    return undone


class _Step:
    """An undo or a redo in an open transaction, with the operation that it is about."""

    def __init__(self, session: Session, tx: StoreTransaction, kind: str) -> None:
        self._session = session
        self._tx = tx
        self._kind = kind
        self._current = head_ref(session.current_branch())
        find = _find_operation_to_undo if kind == "undo" else _find_operation_to_redo
        self._entry = find(tx, self._current)
        self._refs = self._read_ref_moves()
        self._files_moved = self._entry.files_moved
        if kind == "undo":
            self._refs = [(name, now, before) for name, before, now in reversed(self._refs)]
            self._files_moved = self._files_moved[1], self._files_moved[0]

    def _read_ref_moves(self) -> list[tuple[str, bytes, bytes]]:
        """Return the refs that the operation moved, each with its snapshots before and after."""
        if self._entry.kind != "switch":
            moved, side = list(self._entry.refs), 2 if self._kind == "undo" else 1
            if any(move[0] == self._current for move in moved):  # a proposal beside it may go on
                at = self._tx.read_ref
                moved = [
                    move for move in moved
                    if move[0] == self._current or (at(move[0]) or NO_DIGEST) == move[side]
                ]  # fmt: skip
            return moved
        moves = []
        for name, before, now in self._entry.refs:
            head = self._tx.read_ref(name)
            if head is None:
                raise NotFound(
                    f"there is no branch {_branch_text(name)}",
                    code="no_branch",
                    hint="`brain branch` lists the branches",
                )
            # A branch that the switch did not move may have moved since.
            moves.append((name, head, head) if before == now else (name, before, now))
        return moves

    def record(self) -> Edits:
        """Move refs, log the step, and list the files to write, which are returned."""
        wanted = {*self._files_moved, *(new for _, _, new in self._refs)} - {NO_DIGEST}
        if self._tx.find_missing(wanted):
            raise NotFound(
                f"{self._kind} needs a snapshot that `brain gc` removed",
                code="collected",
                hint="`brain gc --grace DAYS` keeps what was undone for longer",
            )
        is_switch = self._entry.kind == "switch"
        moved = self._switch_branch() if is_switch else self._files_moved
        for name, old, new in self._refs:
            if name == self._current and not new:
                raise Conflict(
                    f"{self._kind} would delete the current branch",
                    code="current_branch",
                    hint="switch to another branch first",
                )
            self._tx.update_ref(name, old or None, new or None)
        writes: Edits = {}
        if any(name == self._current for name, _, _ in self._refs):
            if moved[0]:
                writes = self._compute_writes(*moved)
            elif self._entry.kind == "snapshot":
                writes = self._compute_deletions()
        description = f"{self._kind} {self._entry.description}"
        log_operation(
            *(self._session, self._tx, self._kind, description, self._refs, self._files_moved),
            target=self._entry.number,
        )
        add_pending_writes(self._session, self._tx, writes)
        return writes

    def _switch_branch(self) -> tuple[bytes, bytes]:
        """Make the branch of the last ref current; return the snapshots of its files from and to.

        What the switch recorded of the folder, the branch it left has no more after an undo; the
        folder has it still, as before the switch.
        """
        merge_state.refuse_during_merge(self._session)
        (left, before, now), (entered, was, after) = self._refs[0], self._refs[-1]
        if left != self._current:
            raise Conflict(
                f"{_branch_text(left)} is not the current branch",
                code="other_branch",
                hint=f"switch to it with `brain switch {_branch_text(left)}`",
            )
        self._tx.write_meta("branch", entered.removeprefix(_BRANCH_REF_PREFIX).encode())
        return (before, was) if self._kind == "undo" else (now, after)

    def _compute_writes(self, from_: bytes, to: bytes) -> Edits:
        session = self._session
        before, after = session.state_of(from_), session.state_of(to)
        writes = {path: now for path, _, now in before.diff(after)}
        redacted = working_copy.find_redacted_paths(session, writes.values())
        writes.update(dict.fromkeys(redacted))
        require_portable(session.reader, before, after, writes)
        manual_edits = working_copy.store_edits_at(self._tx, before, writes)
        if manual_edits:
            raise Conflict(
                working_copy.describe_unrecorded(manual_edits),
                code="unrecorded_changes",
                hint="record them with `brain snapshot`, or discard them with `brain restore @`",
            )
        return writes

    def _compute_deletions(self) -> Edits:
        """Return the writes that bring back the files whose deletion a snapshot recorded.

        A redo deletes them again. A file that the folder has otherwise by now stays, and one that
        was renamed is there under its new name.
        """
        from . import diff

        session = self._session
        from_, to = next((old, new) for name, old, new in self._refs if name == self._current)
        before, after = session.state_of(from_), session.state_of(to)
        older, newer = (after, before) if self._kind == "undo" else (before, after)
        writes: Edits = {
            change.path: after.get(change.path)
            for change in diff.diff_states(("", older), ("", newer)).changes
            if change.change == "removed" and not _is_occupied(session, change.path)
        }
        left = working_copy.find_redacted_paths(session, writes.values())
        left.update(working_copy.store_edits_at(self._tx, before, writes))
        writes = {path: entry for path, entry in writes.items() if path not in left}
        require_portable(session.reader, BrainState(session), after, writes)
        return writes

    def describe(self, writes: Edits) -> Undone:
        """Return what the step did, once it is recorded."""
        session, entry = self._session, self._entry
        branch = session.current_branch()
        head = session.at()
        absent = [path for path, now in writes.items() if now is None]
        redacted = {path for path in absent if head.has(path)}
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


def _branch_text(ref: str) -> str:
    return printable_text(ref.removeprefix(_BRANCH_REF_PREFIX), 80)


def _is_occupied(session: Session, path: str) -> bool:
    """Tell whether a folder is at `path`, or a file where a folder above it was."""
    folders = [session.root / folder for folder in folders_above(path)]
    above_is_file = any(os.path.lexists(folder) and not folder.is_dir() for folder in folders)
    return above_is_file or (session.root / path).is_dir()


def _describe_operation(session: Session, entry: LoggedOperation) -> str:
    """Return what an operation did, with the versions of the skill that it wrote."""
    operation = session.load_snapshot(entry.refs[0][2]).operation if entry.refs[0][2] else ("",)
    if entry.kind not in _KINDS_WITH_VERSIONS or operation[0] not in ("upsert", "absorb"):
        return entry.description
    from_version, to_version = operation[2:4]
    versions = f"{from_version} → {to_version}" if from_version else f"at version {to_version}"
    return f"{entry.description} {versions}"


def _iter_operations_in_force(reader: StoreReader) -> Iterator[LoggedOperation]:
    """Yield the operations that are in force, the last one first.

    An undo and a redo are in the log themselves, each with the operation it is about: the
    last of them decides. An operation that was done again counts from then on.
    """
    decided: set[int] = set()
    for entry in map(decode_log_entry, reader.stream_operations()):
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
            if entry.kind == "redact":
                raise Conflict(
                    "a redaction cannot be undone: the content is destroyed",
                    code="redacted",
                    hint="restore other files with `brain restore REV PATH`",
                )
            return entry
    raise NotFound(
        "there is nothing to undo",
        code="nothing_to_undo",
        hint="`brain log --ops` lists what was done",
    )


def _find_operation_to_redo(reader: StoreReader, current: str) -> LoggedOperation:
    """Return the last undone operation that was not redone, if nothing was recorded since."""
    redone = 0
    for entry in map(decode_log_entry, reader.stream_operations()):
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
        hint="`brain log --ops` lists what was done",
    )


def _is_off_branch(entry: LoggedOperation, current: str) -> bool:
    """Tell whether an operation moved other branches alone, or dropped old rejected attempts."""
    if entry.kind in _KINDS_OF_ANY_BRANCH:
        return False
    branches = [name for name, _, _ in entry.refs if name.startswith(_BRANCH_REF_PREFIX)]
    return entry.kind == DROP_KIND or (bool(branches) and current not in branches)
