"""Walking a lineage: parents, ancestors by jumps, and the jump a new snapshot gets.

The jumps form a skew-binary list along first parents (Myers, "An applicative
random-access stack", 1983): from a snapshot of depth d, any ancestor on the
first-parent line is reached in O(log d) steps.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator

from ..digest import EMPTY
from ..errors import BrainError
from . import operation
from .snapshot import Jump, Snapshot

Load = Callable[[bytes], Snapshot]
"""Returns the snapshot of an id, or raises `NotFound` or `FormatError`."""


def jump_after(load: Load, parent_id: bytes, parent: Snapshot) -> Jump:
    """Return the jump of a snapshot whose first parent is `parent`."""
    depth = parent.jump.depth + 1
    if parent.jump.target == EMPTY:
        return Jump(depth, parent_id)
    over = load(parent.jump.target)
    stride = parent.jump.depth - over.jump.depth
    if over.jump.target != EMPTY and stride == over.jump.depth - load(over.jump.target).jump.depth:
        return Jump(depth, over.jump.target)
    return Jump(depth, parent_id)


def landing(depth: int) -> int:
    """Return the depth to which a snapshot of `depth`, 1 or more, jumps.

    That is `depth` without the last weight 2^k − 1 of its skew-binary number.
    """
    rest, weight = depth, 0
    while rest:
        weight = (1 << (rest + 1).bit_length() - 1) - 1
        rest -= weight
    return depth - weight


def generation_after(parents: list[Snapshot]) -> int:
    """Return the generation of a snapshot with these parents."""
    return 1 + max(parent.generation for parent in parents)


def first_parents(load: Load, start: bytes) -> Iterator[tuple[bytes, Snapshot]]:
    """Yield a snapshot and its ancestors along first parents, newest first."""
    here = start
    while True:
        snapshot = load(here)
        yield here, snapshot
        if not snapshot.parents:
            return
        here = snapshot.parents[0]


def ancestor_at(load: Load, start: bytes, depth: int) -> bytes | None:
    """Return the ancestor of `start` that lies at `depth` on its first-parent line.

    None if `start` itself lies higher up than `depth`.
    """
    here, snapshot = start, load(start)
    if depth > snapshot.jump.depth or depth < 0:
        return None
    while snapshot.jump.depth > depth:
        target = load(snapshot.jump.target)
        if target.jump.depth >= depth:
            here, snapshot = snapshot.jump.target, target
        else:
            here = snapshot.parents[0]
            snapshot = load(here)
    return here


def history(load: Load, start: bytes) -> Iterator[tuple[bytes, Snapshot]]:
    """Yield `start` and all its ancestors, children before parents, each once.

    Ordered by generation, so memory grows with the width of the lineage alone.
    """
    first = load(start)
    queue = [(-first.generation, -first.time, start)]
    waiting = {start: first}
    while queue:
        _, _, here = heapq.heappop(queue)
        snapshot = waiting.pop(here)
        yield here, snapshot
        for parent_id in snapshot.parents:
            if parent_id not in waiting:
                parent = load(parent_id)
                waiting[parent_id] = parent
                heapq.heappush(queue, (-parent.generation, -parent.time, parent_id))


def is_ancestor(load: Load, old: bytes, new: bytes) -> bool:
    """Tell whether `old` is `new` or one of its ancestors."""
    target = load(old)
    if ancestor_at(load, new, target.jump.depth) == old:
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


def among_ancestors(load: Load, starts: Iterable[bytes], wanted: Collection[bytes]) -> set[bytes]:
    """Return those of `wanted` that are among `starts` or their ancestors, across forks.

    Where they lie on lines of first parents this takes O(log n) snapshots, else a walk.
    What cannot be loaded is no ancestor and leads to none.
    """
    tips = _across_forks(load, starts)
    found = {one for one in wanted if any(_on_line(load, tip, one) for tip in tips)}
    left = set(wanted) - found
    return found | _met(load, tips, left) if left else found


def _across_forks(load: Load, starts: Iterable[bytes]) -> set[bytes]:
    """Return `starts`, and the snapshots that their brains came from."""
    tips: set[bytes] = set()
    waiting = set(starts)
    while waiting:
        tip = waiting.pop()
        snapshot = _loaded(load, tip)
        if snapshot is None or tip in tips:
            continue
        tips.add(tip)
        genesis = _loaded(load, snapshot.brain) if snapshot.brain else snapshot
        if genesis is not None and genesis.is_genesis:
            waiting.add(operation.origin(genesis.operation))
    return tips


def _on_line(load: Load, tip: bytes, wanted: bytes) -> bool:
    try:
        return ancestor_at(load, tip, load(wanted).jump.depth) == wanted
    except BrainError:
        return False


def _met(load: Load, tips: set[bytes], wanted: set[bytes]) -> set[bytes]:
    """Return those of `wanted` that a walk from `tips` meets."""
    known = {one: snapshot for one in wanted if (snapshot := _loaded(load, one))}
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
        snapshot = _loaded(load, here)
        if snapshot is not None and snapshot.generation > least:
            waiting += snapshot.parents
    return found


def _loaded(load: Load, snapshot_id: bytes) -> Snapshot | None:
    try:
        return load(snapshot_id)
    except BrainError:
        return None
