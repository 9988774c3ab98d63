"""Import states of another program's files, recorded on a branch of their own.

The branch stands where the source stands; merging it brings in what changed there since
the last time, and nothing else. The folder is not touched: that is the merge's affair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from ...digest import NO_DIGEST, blob_id
from ...errors import InvalidInput, printable_text
from ...objects import bundle as bundles
from ...objects import lineage, operation, paths
from ...objects.snapshot import MAX_PARENTS
from ...objects.tree_entry import TreeEntry
from ...results import Imported, Notice
from ..core.checkout import Progress, no_progress
from ..core.path_collisions import CollisionFilter
from ..core.read_files import READ_BATCH_BYTES
from ..core.transaction import WriteTransaction, lock_for_writing, log_operation, store_transaction
from ..merge.branches import check_branch_name
from ..open.session import Session, head_ref
from ..read import card_cache, skill_rows
from . import snapshot_folder

BRAIN_OWNED_FILES = frozenset({"manifest.yaml", ".brainignore", "trust.json"})
"""What rules a brain: it stays though a source has no file of that name, and comes from none."""

Edits = Mapping[str, TreeEntry | None]


class SourceFile(NamedTuple):
    """A file of a source: `kind` as in `Entry`; `content` is the text of a link for a link."""

    kind: int
    content: bytes


class ImportStep(NamedTuple):
    """One state of a source, on top of the step before it.

    `files` are paths of the brain, each with what is there, or None for nothing; they are
    gone through once. With `whole` they are all there is, and what they do not name goes,
    but for what `stays`, asked after that: it is there and could not be read.
    `revision` is what the state is called at its source, `author` and `time` (ms, UTC)
    are who made it and when, "" and None for whoever takes it in now. `parents` are the
    revisions it came from, where the source has a history: `files` are then what changed
    since the first of them. Such a step is recorded also if it changes nothing, and passed
    over if its revision is on the branch already.
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
    """Where steps come from: the kind, such as `hermes`, a name, and the branch they go to."""

    kind: str
    name: str
    branch: str


def last_imported_revision(session: Session, branch: str) -> str | None:
    """Return what the source calls the state its branch stands at, None if there is none yet."""
    at = session.reader.read_ref(head_ref(branch))
    done = session.load_snapshot(at).operation if at else ()
    return str(done[3]) if done and done[0] == "import" else None


def import_steps(session: Session, source: ImportSource, steps: Iterable[ImportStep]) -> Imported:
    """Record the steps on the branch of the source, all of them or none.

    A step without parents that changes nothing is passed over. Of names that macOS and
    Windows cannot keep apart the later one is left out. Raises `InvalidInput` for a path
    that a brain cannot hold, a text that a snapshot cannot, or a parent that is not here
    (`unknown_parent`).
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


def import_folder(
    session: Session, source: ImportSource, message: str, progress: Progress = no_progress
) -> Imported:
    """Record the folder as what it is: the home of another program, which goes on using it."""
    done = operation.import_operation(source.kind, source.name)
    made = snapshot_folder.snapshot_folder(session, message, progress, done)
    return Imported(made.snapshot, session.current_branch(), int(made.changed), [])


class _StepImporter:
    """Records one step after the other; `left` grows by what could not be held."""

    def __init__(self, txn: WriteTransaction, source: ImportSource, before: bytes | None) -> None:
        self.skipped: list[Notice] = []
        self._txn = txn
        self._source = source
        self._old_head = before
        self._collision_filter = CollisionFilter(txn.session)
        self._reported_paths: set[str] = set()

    def record_step(self, step: ImportStep) -> bool:
        """Record a step on top of its parents; tell whether that made a snapshot."""
        txn = self._txn
        merged: list[bytes] = []
        if step.parents is not None:
            if step.revision in self._imported_snapshots:
                txn.move_head(self._imported_snapshots[step.revision])
                return False
            first, *merged = map(self._find_snapshot, step.parents or ("",))
            txn.move_head(first)
        edits, collisions = self._collision_filter.split_edits(
            txn.bundle, self._compute_edits(step)
        )
        self._report_skipped(collisions)
        if not edits and step.parents is None:
            return False
        source = self._source
        done = operation.import_operation(source.kind, source.name, step.revision)
        stamp = step.author, step.time
        while len(merged) >= MAX_PARENTS:  # an octopus of more arms than a snapshot has
            some, merged = merged[: MAX_PARENTS - 1], merged[MAX_PARENTS - 1 :]
            txn.record_external({}, done, step.message, stamp, some)
        txn.record_external(edits, done, step.message, stamp, merged)
        self._collision_filter.set_bundle(txn.bundle)
        if step.parents is not None:
            self._imported_snapshots[step.revision] = txn.head
        return True

    @cached_property
    def _imported_snapshots(self) -> dict[str, bytes]:
        """The snapshots that are on the branch already, by revision."""
        session = self._txn.session
        known = {"": session.brain_id()}
        if self._old_head is not None:
            for here, snapshot in lineage.walk_ancestors(session.load_snapshot, self._old_head):
                done = snapshot.operation
                if done[0] == "import" and done[1] == self._source.kind:
                    known.setdefault(done[3], here)
        return known

    def _find_snapshot(self, revision: str) -> bytes:
        try:
            return self._imported_snapshots[revision]
        except KeyError:
            raise InvalidInput(
                f"{printable_text(revision)} was not taken in, but something that follows it is new",
                code="unknown_parent",
                hint="the history of the source was rewritten; adopt it into a new brain",
            ) from None

    def _compute_edits(self, step: ImportStep) -> Edits:
        txn, session = self._txn, self._txn.session
        edits = dict(self._store_files(step.files))
        if step.is_complete:
            there = (entry.path for entry in bundles.walk_entries(session.nodes, txn.bundle))
            gone = (path for path in there if path not in edits and path not in BRAIN_OWNED_FILES)
            edits.update({path: None for path in gone if not step.keeps_path(path)})
        return {
            path: entry
            for path, entry in edits.items()
            if entry != bundles.get_entry(session.nodes, txn.bundle, path)
        }

    def _store_files(
        self, files: Iterable[tuple[str, SourceFile | None]]
    ) -> Iterator[tuple[str, TreeEntry | None]]:
        """Put files into the store; yield their entries."""
        session, tx = self._txn.session, self._txn.store_tx
        batch: list[tuple[bytes, bytes]] = []
        cards: list[tuple[bytes, bytes]] = []
        waiting = 0
        for path, file in files:
            paths.check_path(path)
            if file is None:
                yield path, None
                continue
            blob = blob_id(file.content)
            batch.append((blob, file.content))
            waiting += len(file.content)
            if skill_rows.may_be_skill(path):
                cards.append(card_cache.build_card_row(session, path, blob, file.content))
            if waiting >= READ_BATCH_BYTES:
                tx.put_blobs(batch)
                batch, waiting = [], 0
            yield path, TreeEntry(path, file.kind, blob, len(file.content))
        if batch:
            tx.put_blobs(batch)
        if cards:
            card_cache.stage_cards(session, cards)

    def _report_skipped(self, collisions: Iterable[str]) -> None:
        for path in collisions:
            if path not in self._reported_paths:
                self._reported_paths.add(path)
                why = "beside another spelling, which is the same file on macOS or Windows"
                self.skipped.append(Notice("case_collision", path, why))
