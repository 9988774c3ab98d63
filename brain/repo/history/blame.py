"""Find the snapshot that wrote each line of a skill.

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

from ...errors import NotFound, printable_text
from ...merging import diff3
from ...merging.line_matching import UNMATCHED, match_lines
from ...objects import bundle as bundles
from ...objects import lineage
from ...results import BlameLine
from ..open.session import Session
from ..read import lineage_cache, skill_lookup
from ..read.revisions import resolve_revision
from . import renames


class _BlameState(NamedTuple):
    """What a snapshot left at a path: its lines, and which of them are still asked for.

    `wanted` are (line of the result, line here).
    """

    snapshot: bytes
    path: str
    lines: list[bytes]
    open_lines: list[tuple[int, int]]


class _SkillLogs:
    """The snapshots that changed a skill, by its path; each log is read once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._by_depth: dict[str, list[tuple[int, bytes]]] = {}

    def find_last_change(self, at: bytes, path: str) -> bytes | None:
        """Return the last snapshot on the line of first parents from `at` that changed `path`."""
        load = self._session.load_snapshot
        if path not in self._by_depth:
            rows = {row.snapshot for row in lineage_cache.read_skill_rows(self._session, path)}
            self._by_depth[path] = sorted((load(row).jump.depth, row) for row in rows)
        rows_here = self._by_depth[path]
        known = bisect_right(rows_here, load(at).jump.depth, key=itemgetter(0))
        for depth, row in reversed(rows_here[:known]):
            if lineage.find_ancestor_at(load, at, depth) == row:
                return row
        return None


def blame(session: Session, text: str, revision: str = "@") -> list[BlameLine]:
    """Return who wrote each line of a skill at a revision. Raises `NotFound` (`no_skill`)."""
    head = resolve_revision(session, revision)
    found = skill_lookup.find_skill(session, session.bundle_of(head), text)
    entry = bundles.get_entry(session.nodes, session.bundle_of(head), found.path)
    assert entry is not None
    whole = diff3.split_lines(session.reader.read_blob(entry.blob, entry.size))
    open_lines = [(number, number) for number in range(len(whole))]
    written_by: dict[int, bytes] = {}
    logs = _SkillLogs(session)
    start = logs.find_last_change(head, found.path)
    if start is None:  # it is of a lineage that this brain only came from
        raise NotFound(
            f"no history of {printable_text(text)} in this brain",
            code="no_skill",
            hint="ask the brain that the snapshot is of",
        )
    waiting = {start: _BlameState(start, found.path, whole, open_lines)}
    while waiting:
        here = max(waiting, key=lambda one: session.load_snapshot(one).generation)
        state = waiting.pop(here)
        for older in _iter_parent_states(session, logs, state):
            state = _pass_lines_to_parent(state, older, waiting)
        written_by.update((line, here) for line, _ in state.open_lines)
    return [
        _build_blame_line(session, number, text, written_by[number])
        for number, text in enumerate(whole)
    ]


def _iter_parent_states(
    session: Session, logs: _SkillLogs, state: _BlameState
) -> Iterator[_BlameState]:
    """Yield what the snapshot of `state` found on each of its parents."""
    for parent in session.load_snapshot(state.snapshot).parents:
        path = state.path
        entry = bundles.get_entry(session.nodes, session.bundle_of(parent), path)
        if entry is None:
            moved = renames.find_rename_source(session, parent, state.snapshot, path)
            if moved is None:
                continue
            path, entry = moved.path, moved
        left = logs.find_last_change(parent, path)
        if left is not None and not session.reader.find_redactions([entry.blob]):
            content = session.reader.read_blob(entry.blob, entry.size)
            yield _BlameState(left, path, diff3.split_lines(content), [])


def _pass_lines_to_parent(
    state: _BlameState, older: _BlameState, waiting: dict[bytes, _BlameState]
) -> _BlameState:
    """Hand the lines that `older` has on to it; return `state` with the rest."""
    there = match_lines(state.lines, older.lines)
    passed_lines = [(line, there[at]) for line, at in state.open_lines if there[at] != UNMATCHED]
    if passed_lines:
        known = waiting.get(older.snapshot, older)
        waiting[older.snapshot] = known._replace(open_lines=known.open_lines + passed_lines)
    remaining = [(line, at) for line, at in state.open_lines if there[at] == UNMATCHED]
    return state._replace(open_lines=remaining)


def _build_blame_line(session: Session, number: int, text: bytes, snapshot_id: bytes) -> BlameLine:
    snapshot = session.load_snapshot(snapshot_id)
    return BlameLine(
        number + 1,
        text.decode("utf-8", "replace").rstrip("\r\n"),
        snapshot_id.hex(),
        snapshot.author,
        snapshot.time,
        snapshot.message,
        snapshot.receipt.hex() or None,
    )
