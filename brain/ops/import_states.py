"""Import states of another program's files, recorded on a branch of their own.

The branch follows the source, so merging it brings in only what changed at the source since
the last import. Importing does not write to the folder; the merge does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from typing import NamedTuple

from ..digest import NO_DIGEST, blob_id
from ..errors import InvalidInput
from ..objects import collisions, lineage, operation, paths
from ..objects.bundle import Edits
from ..objects.snapshot import MAX_PARENTS
from ..objects.tree_node import TreeEntry
from ..repo import working_copy
from ..repo.session import Session, head_ref
from ..repo.transaction import (
    WriteTransaction,
    lock_for_writing,
    log_operation,
    store_transaction,
)
from ..repo.working_copy import BlobBatch
from ..results import Imported, Notice
from . import snapshot
from .branches import check_branch_name

BRAIN_OWNED_FILES = frozenset({"manifest.yaml", ".brainignore", "trust.json"})
"""Files that configure the brain: an import neither removes them nor takes them over."""


class SourceFile(NamedTuple):
    """A file of a source: `kind` as in `TreeEntry`; of a link, `content` is its target."""

    kind: int
    content: bytes


class ImportStep(NamedTuple):
    """One state of a source, on top of the step before it; build it by keyword.

    `files` maps paths of the brain to the file there, or None for a removed one; it is
    iterated once. If `is_complete`, they are all files, and others are removed unless
    `keeps_path` says that they exist and could not be read; it is asked after `files`.

    `revision` names the state at its source. `author` and `time` (ms since 1970, UTC) say
    who made it and when; "" and None stand for the importing user and now. `parents` are the
    revisions before it, if the source has a history: then `files` are the changes since the
    first parent. Such a step is recorded even without changes, and skipped if its revision
    is on the branch already.
    """

    files: Iterable[tuple[str, SourceFile | None]]
    is_complete: bool = False
    message: str = ""
    revision: str = ""
    author: str = ""
    time: int | None = None
    parents: tuple[str, ...] | None = None
    keeps_path: Callable[[str], bool] = BRAIN_OWNED_FILES.__contains__


class ImportSource(NamedTuple):
    """The source of steps: its kind, such as `hermes`, its name, and the branch for it."""

    kind: str
    name: str
    branch: str


def find_last_state(session: Session, branch: str) -> str | None:
    """Return the source's name for the state at the head of a branch, None without one."""
    head = session.reader.read_ref(head_ref(branch))
    recorded = session.load_snapshot(head).operation if head else ()
    return str(recorded[3]) if recorded and recorded[0] == "import" else None


def is_redacted(session: Session, content: bytes) -> bool:
    """Tell whether this content was redacted: then it is not stored again."""
    return bool(session.reader.find_redactions([blob_id(content)]))


def record_states(session: Session, source: ImportSource, steps: Iterable[ImportStep]) -> Imported:
    """Record the states on the branch of their source, all or none.

    A step without parents and without changes is skipped. Of paths that macOS and Windows
    cannot distinguish, the later one is left out with a notice. Raises `InvalidInput` for an
    invalid path or text, or an unknown parent (`unknown_parent`).
    """
    ref = head_ref(check_branch_name(source.branch))
    with lock_for_writing(session), store_transaction(session) as tx:
        txn = WriteTransaction(session, tx)
        before = session.reader.read_ref(ref)
        txn.move_head(before or session.brain_id())
        importer = _StepImporter(txn, source, before)
        count = sum(map(importer.record_step, steps))
        if txn.head != before:
            tx.update_ref(ref, before, txn.head)
            moved = [(ref, before or NO_DIGEST, txn.head)]
            log_operation(session, tx, "import", f"import {source.name}", moved)
    return Imported(txn.head.hex(), source.branch, count, importer.skipped)


def record_folder(session: Session, source: ImportSource, message: str = "") -> Imported:
    """Record the folder of this brain, which another program shares."""
    action = operation.import_operation(source.kind, source.name)
    recorded = snapshot.record_folder(
        session, lambda *_: message, message or "import", action=action
    )
    return Imported(recorded.snapshot, session.current_branch(), int(recorded.changed), [])


class _StepImporter:
    """Records steps one by one; `skipped` collects notices about paths left out."""

    def __init__(self, txn: WriteTransaction, source: ImportSource, before: bytes | None) -> None:
        self.skipped: list[Notice] = []
        self._txn = txn
        self._source = source
        self._old_head = before
        self._reported_paths: set[str] = set()

    def record_step(self, step: ImportStep) -> bool:
        """Record a step on top of its parents; return whether that made a snapshot."""
        txn = self._txn
        merged: list[bytes] = []
        if step.parents is not None:
            if step.revision in self._imported_snapshots:
                txn.move_head(self._imported_snapshots[step.revision])
                return False
            first, *merged = map(self._find_snapshot, step.parents or ("",))
            txn.move_head(first)
        edits, left_out = collisions.split_edits(txn.state, self._compute_edits(step))
        self._report_skipped(left_out)
        if not edits and step.parents is None:
            return False
        source = self._source
        record = partial(
            txn.record_snapshot,
            operation=operation.import_operation(source.kind, source.name, step.revision),
            message=step.message,
            author=step.author,
            time=step.time,
            is_external=True,
        )
        while len(merged) >= MAX_PARENTS:  # git's octopus merges may have more parents
            batch, merged = merged[: MAX_PARENTS - 1], merged[MAX_PARENTS - 1 :]
            record({}, merged=batch)
        record(edits, merged=merged)
        if step.parents is not None:
            self._imported_snapshots[step.revision] = txn.head
        return True

    @cached_property
    def _imported_snapshots(self) -> dict[str, bytes]:
        session = self._txn.session
        known = {"": session.brain_id()}
        if self._old_head is not None:
            ancestors = lineage.walk_ancestors(session.load_snapshot, self._old_head)
            for snapshot_id, snapshot in ancestors:
                recorded = snapshot.operation
                if recorded[0] == "import" and recorded[1] == self._source.kind:
                    known.setdefault(recorded[3], snapshot_id)
        return known

    def _find_snapshot(self, revision: str) -> bytes:
        try:
            return self._imported_snapshots[revision]
        except KeyError:
            raise InvalidInput(
                f"the parent revision {revision} was not imported",
                code="unknown_parent",
                hint="the history of the source was rewritten; adopt it into a new brain",
            ) from None

    def _compute_edits(self, step: ImportStep) -> Edits:
        txn = self._txn
        edits = dict(self._store_files(step.files))
        if step.is_complete:
            known_paths = (e.path for e in txn.state.walk())
            missing = (p for p in known_paths if p not in edits and p not in BRAIN_OWNED_FILES)
            edits.update({path: None for path in missing if not step.keeps_path(path)})
        return working_copy.drop_unchanged_edits(txn.state, edits)

    def _store_files(
        self, files: Iterable[tuple[str, SourceFile | None]]
    ) -> Iterator[tuple[str, TreeEntry | None]]:
        batch = BlobBatch(self._txn.session)
        for path, file in files:
            paths.check_path(path)
            if file is None:
                yield path, None
                continue
            yield path, TreeEntry(path, file.kind, batch.add(path, file.content), len(file.content))
            if batch.is_full():
                batch.store(self._txn.store_tx)
        batch.store(self._txn.store_tx)

    def _report_skipped(self, left_out: Iterable[str]) -> None:
        for path in left_out:
            if path not in self._reported_paths:
                self._reported_paths.add(path)
                message = "differs from another name only in a way that macOS or Windows ignores"
                self.skipped.append(Notice("case_collision", path, message))
