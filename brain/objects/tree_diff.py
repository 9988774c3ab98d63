"""Compare two trees at a cost that grows with their differences.

Both trees are read level by level from the top. A node that both trees have is skipped: the
same id means the same entries. The remaining leaves are merged by path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..named_tuple import NamedTuple
from .node_cache import NodeCache
from .tree import TreeRoot, tree_depth
from .tree_node import NodeEntry, TreeEntry


class Difference(NamedTuple):
    """A path whose entries differ; None if the path is missing."""

    path: str
    before: TreeEntry | None
    after: TreeEntry | None


def diff_trees(
    nodes: NodeCache, before: TreeRoot | None, after: TreeRoot | None
) -> Iterator[Difference]:
    """Yield the differences from `before` to `after`, in the order of paths."""
    old = [before.node] if before else []
    new = [after.node] if after else []
    old, new = _drop_shared(old, new)
    old_depth, new_depth = (tree_depth(nodes, ids[0]) if ids else 0 for ids in (old, new))
    while depth := max(old_depth, new_depth):
        # The deeper side is read first, so that both sides are compared at one level.
        if old_depth == depth:
            old, old_depth = _child_ids(nodes, old), depth - 1
        if new_depth == depth:
            new, new_depth = _child_ids(nodes, new), depth - 1
        old, new = _drop_shared(old, new)
    for entries in _aligned_ranges(nodes, old, new):
        yield from _diff_entries(*entries)


def _drop_shared(old: Sequence[bytes], new: Sequence[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Return the nodes of either side that the other does not have."""
    if len(old) == len(new):  # mostly at the same places: comparing these first beats a set
        pairs = [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]]
        old, new = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return _exclude(old, new), _exclude(new, old)


def _exclude(ids: Sequence[bytes], others: Sequence[bytes]) -> list[bytes]:
    known = set(others)
    return [node_id for node_id in ids if node_id not in known]


def _child_ids(nodes: NodeCache, ids: Sequence[bytes]) -> list[bytes]:
    return [line[1] for node_id in ids for line in nodes.get(node_id).entries]


def _aligned_ranges(
    nodes: NodeCache, old: Sequence[bytes], new: Sequence[bytes]
) -> Iterator[tuple[list[NodeEntry], list[NodeEntry]]]:
    """Yield the entries of both sides, a few nodes at a time; equal paths come together."""
    was: list[NodeEntry] = []
    now: list[NodeEntry] = []
    i = j = 0
    while i < len(old) or j < len(new):
        if j == len(new) or (i < len(old) and _last_path(was) <= _last_path(now)):
            was.extend(nodes.get(old[i]).entries)
            i += 1
        else:
            now.extend(nodes.get(new[j]).entries)
            j += 1
        old_end, new_end = _last_path(was), _last_path(now)
        old_done, new_done = i == len(old), j == len(new)
        if (
            old_end == new_end
            or (old_done and old_end < new_end)
            or (new_done and new_end < old_end)
        ):
            yield was, now
            was, now = [], []


def _last_path(lines: Sequence[NodeEntry]) -> str:
    return lines[-1][0] if lines else ""


def _diff_entries(old: list[NodeEntry], new: list[NodeEntry]) -> Iterator[Difference]:
    if len(old) == len(new):
        pairs = [(a, b) for a, b in zip(old, new, strict=True) if a is not b and a != b]
        if all(a[0] == b[0] for a, b in pairs):  # no path was added or removed: the usual case
            yield from (Difference(a[0], TreeEntry(*a), TreeEntry(*b)) for a, b in pairs)
            return
    was = {line[0]: TreeEntry(*line) for line in set(old).difference(new)}
    now = {line[0]: TreeEntry(*line) for line in set(new).difference(old)}
    for path in sorted({*was, *now}):
        yield Difference(path, was.get(path), now.get(path))
