"""Walk a lineage: parents, jumps, ancestors and ranges of snapshots.

The jumps form a skew-binary list along first parents (Myers, "An applicative
random-access stack", 1983): from a snapshot of depth d, any ancestor on the
first-parent line is reached in O(log d) steps.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator

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
    """Return `starts`, and the snapshots from which their brains were forked."""
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
