"""Taking in what another program keeps: states of it, recorded on a branch of their own.

The branch stands where the source stands; merging it brings in what changed there since
the last time, and nothing else. The folder is not touched: that is the merge's affair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from ..digest import EMPTY, blob_id
from ..errors import InvalidInput, printable
from ..objects import bundle as bundles
from ..objects import lineage, operation, paths
from ..objects.entry import Entry
from ..objects.snapshot import MAX_PARENTS
from ..results import Imported, Notice
from ..session import Session, head_ref
from . import derived, record
from .branches import check_name
from .files import Progress, no_progress
from .loading import BATCH_BYTES
from .turn import Turn, locked, log_operation, transaction
from .twins import Twins

RULING = frozenset({"manifest.yaml", ".brainignore", "trust.json"})
"""What rules a brain: it stays though a source has no file of that name, and comes from none."""

Edits = Mapping[str, Entry | None]


class File(NamedTuple):
    """A file of a source: `kind` as in `Entry`; `content` is the text of a link for a link."""

    kind: int
    content: bytes


class Step(NamedTuple):
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

    files: Iterable[tuple[str, File | None]]
    whole: bool = False
    message: str = ""
    revision: str = ""
    author: str = ""
    time: int | None = None
    parents: tuple[str, ...] | None = None
    stays: Callable[[str], bool] = RULING.__contains__


class Source(NamedTuple):
    """Where steps come from: the kind, such as `hermes`, a name, and the branch they go to."""

    kind: str
    name: str
    branch: str


def last_revision(session: Session, branch: str) -> str | None:
    """Return what the source calls the state its branch stands at, None if there is none yet."""
    at = session.reader.ref(head_ref(branch))
    done = session.load(at).operation if at else ()
    return str(done[3]) if done and done[0] == "import" else None


def import_steps(session: Session, source: Source, steps: Iterable[Step]) -> Imported:
    """Record the steps on the branch of the source, all of them or none.

    A step without parents that changes nothing is passed over. Of names that macOS and
    Windows cannot keep apart the later one is left out. Raises `InvalidInput` for a path
    that a brain cannot hold, a text that a snapshot cannot, or a parent that is not here
    (`unknown_parent`).
    """
    ref = head_ref(check_name(source.branch))
    with locked(session), transaction(session) as tx:
        mine = Turn(session, tx)
        before = session.reader.ref(ref)
        mine.advance(before or session.brain_id())
        taking = _Taking(mine, source, before)
        count = sum(map(taking.record, steps))
        if mine.head != before:
            tx.set_ref(ref, before, mine.head)
            moved = [(ref, before or EMPTY, mine.head)]
            log_operation(session, tx, "import", f"import {source.name}", moved)
    return Imported(mine.head.hex(), source.branch, count, taking.left)


def import_folder(
    session: Session, source: Source, message: str, progress: Progress = no_progress
) -> Imported:
    """Record the folder as what it is: the home of another program, which goes on using it."""
    done = operation.imported(source.kind, source.name)
    made = record.snapshot(session, message, progress, done)
    return Imported(made.snapshot, session.branch(), int(made.changed), [])


class _Taking:
    """Records one step after the other; `left` grows by what could not be held."""

    def __init__(self, mine: Turn, source: Source, before: bytes | None) -> None:
        self.left: list[Notice] = []
        self._mine = mine
        self._source = source
        self._before = before
        self._twins = Twins(mine.session)
        self._named: set[str] = set()

    def record(self, step: Step) -> bool:
        """Record a step on top of its parents; tell whether that made a snapshot."""
        mine = self._mine
        merged: list[bytes] = []
        if step.parents is not None:
            if step.revision in self._known:
                mine.advance(self._known[step.revision])
                return False
            first, *merged = map(self._snapshot_of, step.parents or ("",))
            mine.advance(first)
        edits, twins = self._twins.without(mine.bundle, self._edits(step))
        self._leave(twins)
        if not edits and step.parents is None:
            return False
        source = self._source
        done = operation.imported(source.kind, source.name, step.revision)
        stamp = step.author, step.time
        while len(merged) >= MAX_PARENTS:  # an octopus of more arms than a snapshot has
            some, merged = merged[: MAX_PARENTS - 1], merged[MAX_PARENTS - 1 :]
            mine.take_in({}, done, step.message, stamp, some)
        mine.take_in(edits, done, step.message, stamp, merged)
        self._twins.now(mine.bundle)
        if step.parents is not None:
            self._known[step.revision] = mine.head
        return True

    @cached_property
    def _known(self) -> dict[str, bytes]:
        """The snapshots that are on the branch already, by revision."""
        session = self._mine.session
        known = {"": session.brain_id()}
        if self._before is not None:
            for here, snapshot in lineage.history(session.load, self._before):
                done = snapshot.operation
                if done[0] == "import" and done[1] == self._source.kind:
                    known.setdefault(done[3], here)
        return known

    def _snapshot_of(self, revision: str) -> bytes:
        try:
            return self._known[revision]
        except KeyError:
            raise InvalidInput(
                f"{printable(revision)} was not taken in, but something that follows it is new",
                code="unknown_parent",
                hint="the history of the source was rewritten; adopt it into a new brain",
            ) from None

    def _edits(self, step: Step) -> Edits:
        mine, session = self._mine, self._mine.session
        edits = dict(self._stored(step.files))
        if step.whole:
            there = (entry.path for entry in bundles.walk(session.nodes, mine.bundle))
            gone = (path for path in there if path not in edits and path not in RULING)
            edits.update({path: None for path in gone if not step.stays(path)})
        return {
            path: entry
            for path, entry in edits.items()
            if entry != bundles.get(session.nodes, mine.bundle, path)
        }

    def _stored(
        self, files: Iterable[tuple[str, File | None]]
    ) -> Iterator[tuple[str, Entry | None]]:
        """Put files into the store; yield their entries."""
        session, tx = self._mine.session, self._mine.tx
        batch: list[tuple[bytes, bytes]] = []
        cards: list[tuple[bytes, bytes]] = []
        waiting = 0
        for path, file in files:
            paths.check(path)
            if file is None:
                yield path, None
                continue
            blob = blob_id(file.content)
            batch.append((blob, file.content))
            waiting += len(file.content)
            if derived.may_be_skill(path):
                cards.append(derived.card_row(session, path, blob, file.content))
            if waiting >= BATCH_BYTES:
                tx.put_blobs(batch)
                batch, waiting = [], 0
            yield path, Entry(path, file.kind, blob, len(file.content))
        if batch:
            tx.put_blobs(batch)
        if cards:
            derived.keep_cards(session, cards)

    def _leave(self, twins: Iterable[str]) -> None:
        for path in twins:
            if path not in self._named:
                self._named.add(path)
                why = "beside another spelling, which is the same file on macOS or Windows"
                self.left.append(Notice("case_collision", path, why))
