"""Taking in what another program keeps: states of it, recorded on a branch of their own.

The branch stands where the source stands; merging it brings in what changed there since
the last time, and nothing else. The folder is not touched: that is the merge's affair.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..digest import EMPTY, blob_id
from ..objects import bundle as bundles
from ..objects import operation, paths
from ..objects.entry import Entry
from ..results import Imported
from ..session import Session, head_ref
from ..store.protocol import Transaction
from . import derived, record
from .branches import check_name
from .files import Progress, no_progress
from .loading import BATCH_BYTES
from .turn import Turn, locked, log_operation, transaction

KEPT = frozenset({"manifest.yaml", ".brainignore"})
"""What belongs to the brain, though a source has no file of that name."""


class File(NamedTuple):
    """A file of a source: `kind` as in `Entry`; `content` is the text of a link for a link."""

    kind: int
    content: bytes


class Step(NamedTuple):
    """One state of a source, on top of the step before it.

    `files` are paths of the brain, each with what is there, or None for nothing; they are
    gone through once. With `whole` they are all there is, and what they do not name goes.
    `revision` is what the state is called at its source, `author` and `time` (ms, UTC)
    are who made it and when, "" and None for whoever takes it in now.
    """

    files: Iterable[tuple[str, File | None]]
    whole: bool = False
    message: str = ""
    revision: str = ""
    author: str = ""
    time: int | None = None


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

    A step that changes nothing is passed over. Raises `InvalidInput` for a path that a
    brain cannot hold, or a text that a snapshot cannot.
    """
    ref = head_ref(check_name(source.branch))
    with locked(session), transaction(session) as tx:
        mine = Turn(session, tx)
        before = session.reader.ref(ref)
        start = before or session.brain_id()
        mine.advance(start)
        count = sum(_step(mine, source, step) for step in steps)
        if mine.head != before:
            tx.set_ref(ref, before, mine.head)
            moved = [(ref, before or EMPTY, mine.head)]
            log_operation(session, tx, "import", f"import {source.name}", moved)
    return Imported(mine.head.hex(), source.branch, count)


def import_folder(
    session: Session, source: Source, message: str, progress: Progress = no_progress
) -> Imported:
    """Record the folder as what it is: the home of another program, which goes on using it."""
    done = operation.imported(source.kind, source.name)
    made = record.snapshot(session, message, progress, done)
    return Imported(made.snapshot, session.branch(), int(made.changed))


def _step(mine: Turn, source: Source, step: Step) -> bool:
    session = mine.session
    edits = dict(_stored(session, mine.tx, step.files))
    if step.whole:
        there = (entry.path for entry in bundles.walk(session.nodes, mine.bundle))
        edits.update(dict.fromkeys(p for p in there if p not in edits and p not in KEPT))
    edits = {
        path: entry
        for path, entry in edits.items()
        if entry != bundles.get(session.nodes, mine.bundle, path)
    }
    if edits:
        done = operation.imported(source.kind, source.name, step.revision)
        mine.take_in(edits, done, step.message, (step.author, step.time))
    return bool(edits)


def _stored(
    session: Session, tx: Transaction, files: Iterable[tuple[str, File | None]]
) -> Iterator[tuple[str, Entry | None]]:
    """Put files into the store; yield their entries."""
    batch: list[tuple[bytes, bytes]] = []
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
            tx.put_cards([derived.card_row(session, path, blob, file.content)])
        if waiting >= BATCH_BYTES:
            tx.put_blobs(batch)
            batch, waiting = [], 0
        yield path, Entry(path, file.kind, blob, len(file.content))
    tx.put_blobs(batch)
