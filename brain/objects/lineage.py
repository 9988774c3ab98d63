"""Walk a lineage: parents, jumps, ancestors, ranges, common ancestors, and paths of descent.

The jumps form a skew-binary list along first parents (Myers, "An applicative random-access
stack", 1983): from a snapshot of depth d, any ancestor on the first-parent line is reached in
O(log d) steps. The first parents of all snapshots form a forest, and only a merge has ancestors
outside its line of first parents. So the search for common ancestors steps from merge to merge
and never walks the snapshots between.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from itertools import islice

from ..digest import NO_DIGEST
from ..errors import BrainError
from . import operation
from .snapshot import Jump, Snapshot

LoadSnapshot = Callable[[bytes], Snapshot]
"""Returns the snapshot of an id, or raises `NotFound` or `FormatError`."""


def next_jump(load: LoadSnapshot, parent_id: bytes, parent: Snapshot) -> Jump:
    """Return the jump of a snapshot whose first parent is `parent`."""
    depth = parent.jump.depth + 1
    if parent.jump.target == NO_DIGEST:
        return Jump(depth, parent_id)
    over = load(parent.jump.target)
    stride = parent.jump.depth - over.jump.depth
    if (
        over.jump.target != NO_DIGEST
        and stride == over.jump.depth - load(over.jump.target).jump.depth
    ):
        return Jump(depth, over.jump.target)
    return Jump(depth, parent_id)


def jump_target_depth(depth: int) -> int:
    """Return the depth to which a snapshot of `depth`, 1 or more, jumps.

    That is `depth` without the last weight 2^k − 1 of its skew-binary number.
    """
    rest, weight = depth, 0
    while rest:
        weight = (1 << (rest + 1).bit_length() - 1) - 1
        rest -= weight
    return depth - weight


def next_generation(parents: list[Snapshot]) -> int:
    """Return the generation of a snapshot with these parents."""
    return 1 + max(parent.generation for parent in parents)


def walk_first_parents(load: LoadSnapshot, start: bytes) -> Iterator[tuple[bytes, Snapshot]]:
    """Yield a snapshot and its ancestors along first parents, newest first."""
    here = start
    while True:
        snapshot = load(here)
        yield here, snapshot
        if not snapshot.parents:
            return
        here = snapshot.parents[0]


def find_ancestor_at(load: LoadSnapshot, start: bytes, depth: int) -> bytes | None:
    """Return the ancestor of `start` at `depth` on its first-parent line; None if it is lower."""
    if not 0 <= depth <= load(start).jump.depth:
        return None
    *_, here = _walk_jumps(load, start, depth)
    return here


def _walk_jumps(load: LoadSnapshot, start: bytes, depth: int) -> Iterator[bytes]:
    """Yield the snapshots on the way from `start` to its ancestor at `depth`."""
    here, snapshot = start, load(start)
    yield here
    while snapshot.jump.depth > depth:
        here = snapshot.jump.target
        over = load(here)
        if over.jump.depth < depth:
            here = snapshot.parents[0]
            over = load(here)
        snapshot = over
        yield here


def walk_ancestors(load: LoadSnapshot, start: bytes) -> Iterator[tuple[bytes, Snapshot]]:
    """Yield `start` and all its ancestors, children before parents, each once.

    Ordered by generation, so memory grows with the width of the lineage only. Where a parent
    claims to be no older than its child, which verification refuses, the order is lost: from
    there on a snapshot may come once more, and memory grows with the lineage, so that false
    generations cannot make the walk go the same ways for ever.
    """
    first = load(start)
    queue = [(-first.generation, -first.time, start)]
    waiting = {start: first}
    walked: set[bytes] = set()
    in_order = True
    while queue:
        _, _, here = heapq.heappop(queue)
        snapshot = waiting.pop(here)
        if not in_order:
            walked.add(here)
        yield here, snapshot
        for parent_id in snapshot.parents:
            if parent_id not in waiting and parent_id not in walked:
                parent = load(parent_id)
                in_order = in_order and parent.generation < snapshot.generation
                waiting[parent_id] = parent
                heapq.heappush(queue, (-parent.generation, -parent.time, parent_id))


def is_ancestor(load: LoadSnapshot, old: bytes, new: bytes) -> bool:
    """Tell whether `old` is `new` or one of its ancestors."""
    target = load(old)
    if find_ancestor_at(load, new, target.jump.depth) == old:
        return True
    seen = {new}
    stack = [new]
    while stack:
        here = stack.pop()
        if here == old:
            return True
        snapshot = load(here)
        if snapshot.generation <= target.generation:
            continue
        fresh = [parent for parent in snapshot.parents if parent not in seen]
        seen.update(fresh)
        stack.extend(fresh)
    return False


def filter_ancestors(
    load: LoadSnapshot, starts: Iterable[bytes], wanted: Collection[bytes]
) -> set[bytes]:
    """Return those of `wanted` that are among `starts` or their ancestors, across forks.

    On lines of first parents this loads O(log n) snapshots, elsewhere it walks. A snapshot that
    cannot be loaded is not an ancestor and has none.
    """
    tips = _expand_forks(load, starts)
    found = {id for id in wanted if any(_is_on_first_parent_line(load, tip, id) for tip in tips)}
    remaining = set(wanted) - found
    return found | _find_by_walk(load, tips, remaining) if remaining else found


def _expand_forks(load: LoadSnapshot, starts: Iterable[bytes]) -> set[bytes]:
    tips: set[bytes] = set()
    waiting = set(starts)
    while waiting:
        tip = waiting.pop()
        snapshot = _load_or_none(load, tip)
        if snapshot is None or tip in tips:
            continue
        tips.add(tip)
        genesis = _load_or_none(load, snapshot.brain) if snapshot.brain else snapshot
        if genesis is not None and genesis.is_genesis:
            waiting.add(operation.fork_origin(genesis.operation))
    return tips


def _is_on_first_parent_line(load: LoadSnapshot, tip: bytes, wanted: bytes) -> bool:
    try:
        return find_ancestor_at(load, tip, load(wanted).jump.depth) == wanted
    except BrainError:
        return False


def _find_by_walk(load: LoadSnapshot, tips: set[bytes], wanted: set[bytes]) -> set[bytes]:
    known = {id: snapshot for id in wanted if (snapshot := _load_or_none(load, id))}
    least = min((snapshot.generation for snapshot in known.values()), default=0)
    found: set[bytes] = set()
    seen: set[bytes] = set()
    waiting = list(tips) if known else []
    while waiting and len(found) < len(known):
        here = waiting.pop()
        if here in seen:
            continue
        seen.add(here)
        if here in known:
            found.add(here)
        snapshot = _load_or_none(load, here)
        if snapshot is not None and snapshot.generation > least:
            waiting += snapshot.parents
    return found


def _load_or_none(load: LoadSnapshot, snapshot_id: bytes) -> Snapshot | None:
    try:
        return load(snapshot_id)
    except BrainError:
        return None


def walk_range(load: LoadSnapshot, new: bytes, old: bytes | None) -> Iterator[bytes]:
    """Yield `new` and its ancestors that are neither `old` nor its ancestors, newest first.

    By generation, so that a snapshot follows all its descendants, as git's `rev-list old..new`.
    With None all ancestors are yielded. Raises what `load` raises.
    """
    known = {new: False}
    if old is not None:
        known[old] = True
    queue = [(-load(id).generation, id) for id in known]
    heapq.heapify(queue)
    open_ends = 0 if new == old else 1
    while queue and open_ends:
        _, here = heapq.heappop(queue)
        common = known[here]
        if not common:
            open_ends -= 1
            yield here
        for parent in load(here).parents:
            if parent not in known:
                known[parent] = common
                heapq.heappush(queue, (-load(parent).generation, parent))
                open_ends += not common
            elif common and not known[parent]:
                known[parent] = True
                open_ends -= 1


_CACHED_SNAPSHOTS = 4096
"""Decoded snapshots that one search caches."""
_MAX_LINE_TESTS = 10_000
"""Tests of lines after which a plain walk is cheaper."""


def find_merge_bases(
    load: LoadSnapshot, merges: Iterable[tuple[bytes, int]], a: bytes, b: bytes
) -> list[bytes]:
    """Return the best common ancestors of `a` and `b`, sorted; none if they share no genesis.

    The best ones are not ancestors of another common ancestor, as for git's
    `merge-base --all`. `merges` are (id, generation) of all snapshots with several
    parents, in any order; it may contain other snapshots. Raises what `load` raises.
    """
    return MergeBaseFinder(load, merges).find(a, b)


class MergeBaseFinder:
    """Finds the best common ancestors of many pairs in one lineage: `merges` are sorted once."""

    def __init__(self, load: LoadSnapshot, merges: Iterable[tuple[bytes, int]]) -> None:
        self._load = lru_cache(_CACHED_SNAPSHOTS)(load)
        self._merges = sorted((-rank, merge) for merge, rank in merges)

    def find(self, a: bytes, b: bytes) -> list[bytes]:
        """Return the best common ancestors of a pair; see `find_merge_bases`."""
        top = max(self._load(a).generation, self._load(b).generation)
        start = bisect_left(self._merges, (-top, b""))
        sweep = _MergeSweep(self._load, a, b)
        for rank, merge in islice(self._merges, start, None):
            sweep.record_meetings(-rank)
            if not sweep.ours or not sweep.theirs:
                break
            if sweep.line_tests > _MAX_LINE_TESTS:
                return _paint_bases(self._load, a, b)
            sweep.pass_merge(merge)
        else:
            sweep.record_meetings(0)
        return sorted(sweep.bases)


class _MergeSweep:
    """Visits the merges by descending generation, and keeps the tips of the remaining lines.

    The ancestors of `a` are the lines of the tips `ours` and the lines visited before; those
    of `b` likewise, with `theirs`. The lines of the tips `common` hold ancestors of known bases.
    """

    def __init__(self, load: LoadSnapshot, a: bytes, b: bytes) -> None:
        self._load = load
        self._meetings: dict[tuple[bytes, bytes], bytes | None] = {}
        self.ours, self.theirs, self.common = {a}, {b}, set[bytes]()
        self.bases: list[bytes] = []
        self.line_tests = 0

    def record_meetings(self, generation: int) -> None:
        """Find where lines of both sides meet, if at `generation` or above.

        All merges above were visited, so nothing joins these lines before they meet. From
        there on they are common, so their tips are removed.
        """
        meeting_points: set[tuple[int, bytes]] = set()
        ours, theirs = set[bytes](), set[bytes]()
        for a in self.ours:
            for b in self.theirs:
                point = self._find_meeting(a, b)
                if point is not None and (rank := self._load(point).generation) >= generation:
                    meeting_points.add((rank, point))
                    ours.add(a)
                    theirs.add(b)
        self.ours -= ours
        self.theirs -= theirs
        for _, point in sorted(meeting_points, reverse=True):
            if not self._tips_above(self.common, point):
                self.bases.append(point)
                self.common.add(point)

    def pass_merge(self, merge: bytes) -> None:
        """Replace the tips whose lines hold `merge` by its parents."""
        parents = self._load(merge).parents
        for tips in (self.common, self.ours, self.theirs):
            tips_above = self._tips_above(tips, merge)
            tips.difference_update(tips_above)
            if tips_above:
                tips.update(parents)
                parents = ()  # common ancestors no longer belong to one side

    def _tips_above(self, tips: set[bytes], here: bytes) -> set[bytes]:
        self.line_tests += len(tips)
        depth = self._load(here).jump.depth
        return {tip for tip in tips if find_ancestor_at(self._load, tip, depth) == here}

    def _find_meeting(self, a: bytes, b: bytes) -> bytes | None:
        self.line_tests += 1
        if (a, b) not in self._meetings:
            self._meetings[a, b] = find_meeting_point(self._load, a, b)
        return self._meetings[a, b]


def find_meeting_point(load: LoadSnapshot, a: bytes, b: bytes) -> bytes | None:
    """Return the last snapshot on the lines of first parents of both, None if there is none."""
    depth = min(load(a).jump.depth, load(b).jump.depth)
    a, b = find_ancestor_at(load, a, depth) or a, find_ancestor_at(load, b, depth) or b
    while a != b:
        ours, theirs = load(a), load(b)
        if ours.is_genesis or theirs.is_genesis:
            return None
        # At equal depth both jump equally far; a common target may be below the meeting point.
        if ours.jump.target != theirs.jump.target:
            a, b = ours.jump.target, theirs.jump.target
        else:
            a, b = ours.parents[0], theirs.parents[0]
    return a


_OURS, _THEIRS, _COMMON = 1, 2, 4


def _paint_bases(load: LoadSnapshot, a: bytes, b: bytes) -> list[bytes]:
    """Return the best common ancestors by walking, children before parents.

    A snapshot that is reached by both colours, but not by a base, is a base.
    """
    colours = {a: _OURS}
    colours[b] = colours.get(b, 0) | _THEIRS
    queue = [(-load(tip).generation, tip) for tip in colours]
    heapq.heapify(queue)
    uncommon = len(queue)
    bases = []
    while uncommon and queue:
        _, here = heapq.heappop(queue)
        colour = colours[here]
        uncommon -= colour != _COMMON
        if colour == _OURS | _THEIRS:
            bases.append(here)
            colour = _COMMON
        for parent in load(here).parents:
            before = colours.get(parent, 0)
            after = _COMMON if (before | colour) & _COMMON else before | colour
            colours[parent] = after
            if not before:
                heapq.heappush(queue, (-load(parent).generation, parent))
            uncommon += (after != _COMMON) - (before not in (0, _COMMON))
    return sorted(bases)


def find_descent_path(load: LoadSnapshot, old: bytes, new: bytes) -> list[bytes] | None:
    """Return a path from `new` down to `old`, both included; None if `new` does not descend.

    Each step goes to a parent, along the jump, or from the genesis of a fork to its origin, so
    the snapshot where it starts proves it. If `old` is on the line of first parents, the path
    has O(log n) steps; otherwise the snapshots above `old` are walked until a parent leads to
    its line. Raises what `load` raises.
    """
    load = lru_cache(_CACHED_SNAPSHOTS)(load)
    home = _brain_of(load, old)
    path = [new]
    while _brain_of(load, path[-1]) != home:
        path += _walk_jumps(load, path.pop(), 0)
        origin = load(path[-1]).operation[2]
        if origin == NO_DIGEST:
            return None
        path.append(origin)
    rest = _find_path_in_brain(load, old, path.pop())
    return None if rest is None else path + rest


def _brain_of(load: LoadSnapshot, here: bytes) -> bytes:
    return load(here).brain or here


def _find_path_in_brain(load: LoadSnapshot, old: bytes, new: bytes) -> list[bytes] | None:
    target = load(old)
    depth = target.jump.depth
    if find_ancestor_at(load, new, depth) == old:
        return list(_walk_jumps(load, new, depth))
    child_of: dict[bytes, bytes] = {}
    queue = [(-load(new).generation, new)]
    while queue and -queue[0][0] > target.generation:
        _, here = heapq.heappop(queue)
        for place, parent in enumerate(load(here).parents):
            if parent in child_of:
                continue
            child_of[parent] = here
            # `old` is not on the line of `here`, so it is not on that of its first parent either.
            if place and find_ancestor_at(load, parent, depth) == old:
                parent_path = [parent]
                while parent_path[-1] != new:
                    parent_path.append(child_of[parent_path[-1]])
                return [*_shorten_path(load, parent_path[::-1]), *_walk_jumps(load, parent, depth)]
            heapq.heappush(queue, (-load(parent).generation, parent))
    return None


def _shorten_path(load: LoadSnapshot, parent_path: list[bytes]) -> Iterator[bytes]:
    """Yield `parent_path`, from child to parent, shortened by jumps, without its last snapshot."""
    places = {here: place for place, here in enumerate(parent_path)}
    place = 0
    while place < len(parent_path) - 1:
        here = parent_path[place]
        yield here
        place = places.get(load(here).jump.target, place + 1)
