"""The tree of a section: a history-independent search tree (prolly tree).

The entries of a section, sorted by path, are cut into leaf nodes (`cut`), their
last paths into inner nodes, and so on up to the first level that has one node.
That node is the root, so a tree is a function of its entries alone. Changing k
entries rewrites O(k · log n) nodes: from each changed node on, entries are cut
anew until a cut falls where one was before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from .cut import ends_node
from .entry import Child, Entry
from .node import INNER, LEAF, Line, Node, path_of
from .nodes import Nodes


class Root(NamedTuple):
    """A whole tree: the id of its root node, its files, and their bytes."""

    node: bytes
    files: int
    bytes: int


Edit = tuple[str, Entry | None]
"""A path and its new entry, or None where the path goes."""


def build(nodes: Nodes, entries: Iterable[Entry]) -> Root | None:
    """Build a tree of `entries`, which ascend strictly by path; None if there are none."""
    return _rise(nodes, _cut_all(nodes, LEAF, 0, entries), 1)


def get(nodes: Nodes, root: Root | None, path: str) -> Entry | None:
    """Return the entry at `path`, or None."""
    line = get_line(nodes, root, path)
    return Entry(*line) if line else None


def get_line(nodes: Nodes, root: Root | None, path: str) -> Line | None:
    """Return what `get` returns, as a bare tuple."""
    line = _first_from(nodes, root, path)
    return line if line and line[0] == path else None


def has_any(nodes: Nodes, root: Root | None, paths: Sequence[str]) -> bool:
    """Tell whether there is an entry at one of `paths`, which ascend.

    One look-up answers for all paths up to the entry it finds.
    """
    following = ""
    for path in paths:
        if path > following:
            line = _first_from(nodes, root, path)
            if line is None:
                return False
            following = line[0]
        if path == following:
            return True
    return False


def first_from(nodes: Nodes, root: Root | None, path: str) -> str | None:
    """Return the first path that is not below `path`, or None."""
    line = _first_from(nodes, root, path)
    return line[0] if line else None


def _first_from(nodes: Nodes, root: Root | None, path: str) -> Line | None:
    """Return the first line whose path is not below `path`, or None."""
    if root is None:
        return None
    node = nodes.get(root.node)
    while True:
        place = bisect_left(node.paths, path)
        if place == len(node.paths):
            return None
        line = node.entries[place]
        if node.kind == LEAF:
            return line
        node = nodes.get(line[1])


def walk(nodes: Nodes, root: Root | None, start: str = "") -> Iterator[Entry]:
    """Yield the entries in order, from the first whose path is not below `start`."""
    for node in leaves(nodes.get, root, start):
        for line in node.entries:
            if line[0] >= start:
                yield Entry(*line)


def leaves(get: Callable[[bytes], Node], root: Root | None, start: str = "") -> Iterator[Node]:
    """Yield the leaf nodes in order, from the first that may hold `start`.

    `get` is that of `Nodes`, or its `glance` where many are looked at once.
    """
    if root is None:
        return
    stack = [root.node]
    while stack:
        node = get(stack.pop())
        if node.kind == LEAF:
            yield node
        else:
            first = bisect_left(node.paths, start)
            stack.extend(line[1] for line in reversed(node.entries[first:]))


def update(nodes: Nodes, root: Root | None, edits: Sequence[Edit]) -> Root | None:
    """Return the tree with `edits`, which ascend strictly by path, applied.

    Removing a path that is not there changes nothing.
    """
    if not edits:
        return root
    if root is None:
        return build(nodes, (entry for _, entry in edits if entry is not None))
    height = _height(nodes, root, edits[0][0])
    changes: Sequence[tuple[str, Line | None]] = edits
    for level in range(height + 1):
        changes = _update_level(nodes, _Cursor(nodes, root, height - level), level, changes)
    return _rise(nodes, [Child(*line) for _, line in changes if line is not None], height + 1)


def _height(nodes: Nodes, root: Root, path: str) -> int:
    height = 0
    node = nodes.get(root.node)
    while node.kind == INNER:
        place = min(bisect_left(node.paths, path), len(node.paths) - 1)
        node = nodes.get(node.entries[place][1])
        height += 1
    return height


class _Cursor:
    """A place among the nodes that lie `depth` below the root."""

    def __init__(self, nodes: Nodes, root: Root, depth: int) -> None:
        self._nodes = nodes
        self._root = root
        self._depth = depth
        self._way: list[tuple[Node, int]] = []
        self.node = nodes.get(root.node)

    def seek(self, path: str) -> None:
        """Go to the node that holds `path` or would."""
        self._way.clear()
        node = self._nodes.get(self._root.node)
        for _ in range(self._depth):
            place = min(bisect_left(node.paths, path), len(node.paths) - 1)
            self._way.append((node, place))
            node = self._nodes.get(node.entries[place][1])
        self.node = node

    def advance(self) -> None:
        """Go to the next node of the level, of which this must not be the last."""
        up = len(self._way) - 1
        while self._way[up][1] == len(self._way[up][0].entries) - 1:
            up -= 1
        del self._way[up + 1 :]
        parent, place = self._way[up]
        self._way[up] = (parent, place + 1)
        node = self._nodes.get(parent.entries[place + 1][1])
        while len(self._way) < self._depth:
            self._way.append((node, 0))
            node = self._nodes.get(node.entries[0][1])
        self.node = node

    def is_last(self) -> bool:
        """Tell whether this is the last node of its level."""
        return all(place == len(node.entries) - 1 for node, place in self._way)


def _update_level(
    nodes: Nodes, cursor: _Cursor, level: int, changes: Sequence[tuple[str, Line | None]]
) -> list[tuple[str, Line | None]]:
    """Apply `changes` to one level; return the changes this means for the level above."""
    above: dict[str, Line | None] = {}
    kind = LEAF if level == 0 else INNER
    done = 0
    while done < len(changes):
        cursor.seek(changes[done][0])
        pending: list[Line] = []
        while True:
            old = cursor.node
            above.setdefault(old.last, None)
            is_last = cursor.is_last()
            upto = len(changes) if is_last else _first_after(changes, done, old.last)
            here = changes[done:upto]
            if not pending and (lines := _in_place(old, here)) is not None:
                # Cuts depend on paths alone, so this node ends where it did.
                above[old.last] = _child(nodes, old.replaced(lines))
                done = upto
                break
            for line in _merged(old, here):
                pending.append(line)
                if ends_node(level, line[0], len(pending)):
                    _close(nodes, kind, pending, above, old)
                    pending = []
            done = upto
            if not pending:
                break
            if is_last:
                _close(nodes, kind, pending, above, old)
                break
            cursor.advance()
    return sorted(above.items(), key=path_of)


def _first_after(changes: Sequence[tuple[str, Line | None]], start: int, path: str) -> int:
    place = bisect_left(changes, path, lo=start, key=path_of)
    return place + (place < len(changes) and changes[place][0] == path)


def _in_place(node: Node, changes: Sequence[tuple[str, Line | None]]) -> dict[int, Line] | None:
    """Return the new lines by their places, or None if paths come or go."""
    paths = node.paths
    lines = {}
    for path, line in changes:
        place = bisect_left(paths, path)
        if line is None or place == len(paths) or paths[place] != path:
            return None
        lines[place] = line
    return lines


def _merged(node: Node, changes: Sequence[tuple[str, Line | None]]) -> Iterator[Line]:
    entries, paths = node.entries, node.paths
    start = 0
    for path, line in changes:
        place = bisect_left(paths, path, start)
        yield from entries[start:place]
        start = place + (place < len(paths) and paths[place] == path)
        if line is not None:
            yield line
    yield from entries[start:]


def _close(
    nodes: Nodes, kind: int, lines: Sequence[Line], above: dict[str, Line | None], old: Node
) -> None:
    node = Node(kind, tuple(lines))
    node.rows_like(old)
    above[node.last] = _child(nodes, node)


def _child(nodes: Nodes, node: Node) -> Child:
    count, size = node.totals()
    return Child(node.last, nodes.add(node), count, size)


def _cut_all(nodes: Nodes, kind: int, level: int, lines: Iterable[Line]) -> list[Child]:
    out = []
    pending: list[Line] = []
    for line in lines:
        pending.append(line)
        if ends_node(level, line[0], len(pending)):
            out.append(_child(nodes, Node(kind, tuple(pending))))
            pending = []
    if pending:
        out.append(_child(nodes, Node(kind, tuple(pending))))
    return out


def _rise(nodes: Nodes, children: list[Child], level: int) -> Root | None:
    """Build inner levels over `children`, the nodes of the level below, up to one root."""
    while len(children) > 1:
        children = _cut_all(nodes, INNER, level, children)
        level += 1
    if not children:
        return None
    _, node_id, count, size = children[0]
    # A tree that shrank may keep one-armed nodes at its top, but the root is the first level
    # with one node.
    while (node := nodes.get(node_id)).kind == INNER and len(node.entries) == 1:
        node_id = node.entries[0][1]
    return Root(node_id, count, size)
