"""Which snapshot wrote each line of a skill.

The log of a skill has the snapshots that changed it against their first parent.
So what a snapshot found is what the last of these on its parent's line of first
parents left, and a merge found what either side had. Lines that were found are
looked for there; what is left was written here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

from ..errors import NotFound, printable
from ..merging import lines
from ..merging.match import NONE, partners
from ..objects import bundle as bundles
from ..objects import lineage
from ..results import BlameLine
from ..session import Session
from . import find, lineage_cache, renames
from .revisions import resolve


class _State(NamedTuple):
    """What a snapshot left at a path: its lines, and which of them are still asked for.

    `wanted` are (line of the result, line here).
    """

    snapshot: bytes
    path: str
    lines: list[bytes]
    wanted: list[tuple[int, int]]


class _Logs:
    """The snapshots that changed a skill, by its path; each log is read once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._by_depth: dict[str, list[tuple[int, bytes]]] = {}

    def last(self, at: bytes, path: str) -> bytes | None:
        """Return the last snapshot on the line of first parents from `at` that changed `path`."""
        load = self._session.load
        if path not in self._by_depth:
            rows = {row.snapshot for row in lineage_cache.log_of(self._session, path)}
            self._by_depth[path] = sorted((load(row).jump.depth, row) for row in rows)
        rows_here = self._by_depth[path]
        known = bisect_right(rows_here, load(at).jump.depth, key=itemgetter(0))
        for depth, row in reversed(rows_here[:known]):
            if lineage.ancestor_at(load, at, depth) == row:
                return row
        return None


def blame(session: Session, text: str, revision: str = "@") -> list[BlameLine]:
    """Return who wrote each line of a skill at a revision. Raises `NotFound` (`no_skill`)."""
    head = resolve(session, revision)
    found = find.one(session, session.bundle_of(head), text)
    entry = bundles.get(session.nodes, session.bundle_of(head), found.path)
    assert entry is not None
    whole = lines.split(session.reader.read_blob(entry.blob, entry.size))
    wanted = [(number, number) for number in range(len(whole))]
    written: dict[int, bytes] = {}
    logs = _Logs(session)
    start = logs.last(head, found.path)
    if start is None:  # it is of a lineage that this brain only came from
        raise NotFound(
            f"no history of {printable(text)} in this brain",
            code="no_skill",
            hint="ask the brain that the snapshot is of",
        )
    waiting = {start: _State(start, found.path, whole, wanted)}
    while waiting:
        here = max(waiting, key=lambda one: session.load(one).generation)
        state = waiting.pop(here)
        for older in _found(session, logs, state):
            state = _pass_on(state, older, waiting)
        written.update((line, here) for line, _ in state.wanted)
    return [_line(session, number, text, written[number]) for number, text in enumerate(whole)]


def _found(session: Session, logs: _Logs, state: _State) -> Iterator[_State]:
    """Yield what the snapshot of `state` found on each of its parents."""
    for parent in session.load(state.snapshot).parents:
        path = state.path
        entry = bundles.get(session.nodes, session.bundle_of(parent), path)
        if entry is None:
            moved = renames.source(session, parent, state.snapshot, path)
            if moved is None:
                continue
            path, entry = moved.path, moved
        left = logs.last(parent, path)
        if left is not None and not session.reader.redacted([entry.blob]):
            content = session.reader.read_blob(entry.blob, entry.size)
            yield _State(left, path, lines.split(content), [])


def _pass_on(state: _State, older: _State, waiting: dict[bytes, _State]) -> _State:
    """Hand the lines that `older` has on to it; return `state` with the rest."""
    there = partners(state.lines, older.lines)
    passed = [(line, there[at]) for line, at in state.wanted if there[at] != NONE]
    if passed:
        known = waiting.get(older.snapshot, older)
        waiting[older.snapshot] = known._replace(wanted=known.wanted + passed)
    kept = [(line, at) for line, at in state.wanted if there[at] == NONE]
    return state._replace(wanted=kept)


def _line(session: Session, number: int, text: bytes, snapshot_id: bytes) -> BlameLine:
    snapshot = session.load(snapshot_id)
    return BlameLine(
        number + 1,
        text.decode("utf-8", "replace").rstrip("\r\n"),
        snapshot_id.hex(),
        snapshot.author,
        snapshot.time,
        snapshot.message,
        snapshot.receipt.hex() or None,
    )
