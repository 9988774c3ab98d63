"""What differs between two trees, at a cost that grows with the differences alone.

Both trees are opened level by level from the top. A node that both have is left
out on both sides: the same id means the same entries. What is left at the bottom
is merged by path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .entry import Entry
from .node import LEAF, Line
from .nodes import Nodes
from .tree import Root


class Difference(NamedTuple):
    """A path whose entries differ; None stands for "not there"."""

    path: str
    before: Entry | None
    after: Entry | None


def compare(nodes: Nodes, before: Root | None, after: Root | None) -> Iterator[Difference]:
    """Yield the differences from `before` to `after`, in the order of paths."""
    old = [before.node] if before else []
    new = [after.node] if after else []
    old, new = _without(old, new), _without(new, old)
    old_depth, new_depth = _depth(nodes, old), _depth(nodes, new)
    while depth := max(old_depth, new_depth):
        # The deeper side is opened first, so that like stands against like.
        if old_depth == depth:
            old, old_depth = _open(nodes, old), depth - 1
        if new_depth == depth:
            new, new_depth = _open(nodes, new), depth - 1
        old, new = _without(old, new), _without(new, old)
    yield from _merge(_lines(nodes, old), _lines(nodes, new))


def _without(ids: Sequence[bytes], others: Sequence[bytes]) -> list[bytes]:
    known = set(others)
    return [node_id for node_id in ids if node_id not in known]


def _depth(nodes: Nodes, ids: Sequence[bytes]) -> int:
    """Levels below the nodes `ids`, which all lie on one level."""
    if not ids:
        return 0
    depth = 0
    node = nodes.get(ids[0])
    while node.kind != LEAF:
        node = nodes.get(node.entries[0][1])
        depth += 1
    return depth


def _open(nodes: Nodes, ids: Sequence[bytes]) -> list[bytes]:
    return [line[1] for node_id in ids for line in nodes.get(node_id).entries]


def _lines(nodes: Nodes, ids: Sequence[bytes]) -> Iterator[Line]:
    for node_id in ids:
        yield from nodes.get(node_id).entries


def _merge(old: Iterator[Line], new: Iterator[Line]) -> Iterator[Difference]:
    a, b = next(old, None), next(new, None)
    while a is not None or b is not None:
        if b is None or (a is not None and a[0] < b[0]):
            assert a is not None
            yield Difference(a[0], Entry(*a), None)
            a = next(old, None)
        elif a is None or b[0] < a[0]:
            yield Difference(b[0], None, Entry(*b))
            b = next(new, None)
        else:
            if a != b:
                yield Difference(a[0], Entry(*a), Entry(*b))
            a, b = next(old, None), next(new, None)
