"""Recording named files and folders alone: the rest stays as the head has it.

Nothing but these paths is looked at, so the cost does not grow with the brain. The stat
cache is left as it is: it still tells what it told, and the recorded files are read once
more by the next scan of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing

from ..errors import NotFound, printable
from ..objects import bundle as bundles
from ..objects import operation, paths
from ..objects.bundle import Bundle
from ..objects.entry import Entry
from ..results import Recorded
from ..session import Session
from ..worktree.ignore import IgnoreRules
from ..worktree.named import Named, scan_named
from ..worktree.walk import refuse_twins
from . import loading
from .files import Progress, no_progress
from .record import Words, recorded
from .turn import Turn, locked, recording

Edits = dict[str, Entry | None]


def snapshot_of(
    session: Session, message: str, wanted: Sequence[str], progress: Progress = no_progress
) -> Recorded:
    """Record the files at or below the paths `wanted` as they are in the folder.

    A path that is gone, or left out by now, is removed. Raises `NotFound` (`no_path`)
    for one that neither the folder nor the head has, and `InvalidInput` for what a
    brain cannot hold.
    """
    wanted = [paths.check(path.rstrip("/")) for path in wanted]
    rules = IgnoreRules.load(session.root)
    with locked(session):
        found = _scan(session, rules, wanted, progress)
        _refuse_absent(session, wanted, found)
        return _snapshot(
            session, wanted, found, lambda *_: message, message or "snapshot", progress
        )


def worded(session: Session, words: Words, description: str, wanted: Sequence[str]) -> Recorded:
    """As `snapshot_of`, with a message that is made of what changed.

    That nothing is at a path is no error.
    """
    rules = IgnoreRules.load(session.root)
    with locked(session):
        found = _scan(session, rules, wanted, no_progress)
        return _snapshot(session, wanted, found, words, description, no_progress)


def _scan(session: Session, rules: IgnoreRules, wanted: Sequence[str], progress: Progress) -> Named:
    return scan_named(session.root, rules, wanted, lambda done: progress("scanning", done, 0))


def _snapshot(
    session: Session,
    wanted: Sequence[str],
    found: Named,
    words: Words,
    description: str,
    progress: Progress,
) -> Recorded:
    size = sum(file.size for file in found.files)
    with recording(session, "snapshot", description, expected_bytes=size) as mine:
        before = mine.bundle
        stored = loading.stored(session, mine.tx, before, found.files, progress=progress)
        with closing(stored) as entries:
            now = {entry.path: entry for entry in entries}
        edits = _edits(session, before, wanted, now)
        if edits:
            mine.commit(edits, operation.snapshot(), words(session, before, edits))
            refuse_new_twins(mine, before, [path for path, entry in edits.items() if entry])
    return recorded(mine, before, edits, found.notices)


def _refuse_absent(session: Session, wanted: Sequence[str], found: Named) -> None:
    head = session.bundle_of(session.head())
    there = [file.path for file in found.files]
    for path in wanted:
        inside = any(file == path or file.startswith(path + "/") for file in there)
        if not inside and not any(bundles.below(session.nodes, head, path)):
            raise NotFound(
                f"nothing to record at {printable(path)}",
                code="no_path",
                hint="it is not there, or left out; give paths from the top of the brain",
            )


def _edits(
    session: Session, before: Bundle, wanted: Sequence[str], now: Mapping[str, Entry]
) -> Edits:
    """Return what leads from `before` to the files `now` at the paths `wanted`."""
    edits: Edits = {}
    for path in wanted:
        edits.update(dict.fromkeys(e.path for e in bundles.below(session.nodes, before, path)))
    for path in now:
        for outer in above(path):  # what was a file there is a folder now
            if bundles.get(session.nodes, before, outer) is not None:
                edits[outer] = None
    edits.update(now)
    return {
        path: entry
        for path, entry in edits.items()
        if entry != bundles.get(session.nodes, before, path)
    }


def refuse_new_twins(mine: Turn, before: Bundle, written: Iterable[str]) -> None:
    """Refuse new names beside which the snapshot has a name that differs in case alone.

    A scan of the whole folder sees such names together; here one may be of the head.
    Raises `InvalidInput` (`case_collision`).
    """
    nodes = mine.session.nodes
    folders: set[str] = set()
    for path in written:
        for inner in (path, *above(path)):
            if any(True for _ in bundles.below(nodes, before, inner)):
                break
            folders.add(inner.rpartition("/")[0])
    for folder in folders:
        refuse_twins(folder and folder + "/", bundles.names_in(nodes, mine.bundle, folder))


def above(path: str) -> list[str]:
    """Return the folders above `path`, the nearest first."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(len(parts) - 1, 0, -1)]
