"""Blame: find the snapshot that wrote each line of a skill.

The skill log lists the snapshots that changed the skill against their first parent. So the
state before a snapshot is that of the last such snapshot on each parent's line of first
parents. Lines that a parent has are searched there; the remaining ones were written here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

from ..errors import NotFound
from ..merging.lines import UNMATCHED, match_lines, split_lines
from ..objects import lineage
from ..repo import lineage_cache
from ..repo.find_skill import Skills
from ..repo.session import Session
from ..results import BlameLine
from ..skills.skill_layout import split_version
from ..util.utc_time import utc_time
from . import diff, log


class _BlameState(NamedTuple):
    """A skill after a snapshot: its lines, and those whose author is still unknown.

    `open_lines` are pairs: the line of the result, and the line in this state.
    """

    snapshot: bytes
    path: str
    lines: list[bytes]
    open_lines: list[tuple[int, int]]


class _SkillLogs:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._by_depth: dict[str, list[tuple[int, bytes]]] = {}

    def find_last_change(self, start: bytes, path: str) -> bytes | None:
        """Return the last snapshot that changed `path` on the first-parent line of `start`."""
        load = self._session.load_snapshot
        if path not in self._by_depth:
            rows = lineage_cache.read_skill_rows(self._session, path)
            ids = {row.snapshot for row in rows}
            self._by_depth[path] = sorted((load(id).jump.depth, id) for id in ids)
        changes = self._by_depth[path]
        count = bisect_right(changes, load(start).jump.depth, key=itemgetter(0))
        for depth, snapshot_id in reversed(changes[:count]):
            if lineage.find_ancestor_at(load, start, depth) == snapshot_id:
                return snapshot_id
        return None


def blame(session: Session, slug: str, rev: str = "@") -> list[BlameLine]:
    """Return which snapshot wrote each line of a skill; `slug` may be SLUG@VERSION.

    Raises `NotFound` (`no_skill`, `no_version`).
    """
    head = session.resolve(rev)
    name, version = split_version(slug)
    if version:
        head, found = log.find_skill_at_version(session, head, name, version)
    else:
        found = Skills(session.state_of(head)).find(slug)
    lines = split_lines(session.reader.read_blob(found.blob))
    open_lines = [(number, number) for number in range(len(lines))]
    written_by: dict[int, bytes] = {}
    logs = _SkillLogs(session)
    start = logs.find_last_change(head, found.path)
    if start is None:  # a snapshot of the brain that this one was forked from
        raise NotFound(
            f"this brain has no history of {slug}",
            code="no_skill",
            hint="run the command in the brain of that snapshot",
        )
    queue = {start: _BlameState(start, found.path, lines, open_lines)}
    while queue:
        newest = max(queue, key=lambda id: session.load_snapshot(id).generation)
        state = queue.pop(newest)
        for older in _iter_parent_states(session, logs, state):
            state = _pass_lines_to_parent(state, older, queue)
        written_by.update((line, newest) for line, _ in state.open_lines)
    blamed = []
    for number, line in enumerate(lines):
        snapshot = session.load_snapshot(written_by[number])
        blamed.append(
            BlameLine(
                line=number + 1,
                text=line.decode("utf-8", "replace").rstrip("\r\n"),
                snapshot=written_by[number].hex(),
                author=snapshot.author,
                time=utc_time(snapshot.time),
                message=snapshot.message,
                receipt=snapshot.receipt.hex() or None,
            )
        )
    return blamed


def _iter_parent_states(
    session: Session, logs: _SkillLogs, state: _BlameState
) -> Iterator[_BlameState]:
    for parent in session.load_snapshot(state.snapshot).parents:
        path = state.path
        entry = session.state_of(parent).get(path)
        if entry is None:
            moved = diff.find_rename_source(session, parent, state.snapshot, path)
            if moved is None:
                continue
            path, entry = moved.path, moved
        last_change = logs.find_last_change(parent, path)
        if last_change is not None and not session.reader.find_redactions([entry.blob]):
            content = session.reader.read_blob(entry.blob, entry.size)
            yield _BlameState(last_change, path, split_lines(content), [])


def _pass_lines_to_parent(
    state: _BlameState, older: _BlameState, queue: dict[bytes, _BlameState]
) -> _BlameState:
    """Move the open lines that `older` has to its state; return `state` with the others."""
    matches = match_lines(state.lines, older.lines)
    matched = [(line, matches[at]) for line, at in state.open_lines if matches[at] != UNMATCHED]
    if matched:
        known = queue.get(older.snapshot, older)
        queue[older.snapshot] = known._replace(open_lines=known.open_lines + matched)
    remaining = [(line, at) for line, at in state.open_lines if matches[at] == UNMATCHED]
    return state._replace(open_lines=remaining)
