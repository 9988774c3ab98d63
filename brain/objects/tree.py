"""The tree of a section: a history-independent search tree (prolly tree).

The entries of a section, sorted by path, are cut into leaf nodes (`node_boundary`), the leaves
into inner nodes, and so on up to the first level with one node, the root. So a tree is a
function of its entries only. Changing k entries rewrites O(k · log n) nodes: from each changed
node on, entries are cut again until a cut is where one was before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..named_tuple import NamedTuple
from .node_cache import NodeCache
from .tree_node import (
    INNER,
    LEAF,
    ChildEntry,
    NodeEntry,
    TreeEntry,
    TreeNode,
    entry_path,
    is_node_boundary,
)


class TreeRoot(NamedTuple):
    """A whole tree: the id of its root node, its files, and their bytes."""

    node: bytes
    files: int
    bytes: int


EntryEdit = tuple[str, TreeEntry | None]
"""A path and its new entry, or None to remove the path."""


def build_tree(nodes: NodeCache, entries: Iterable[TreeEntry]) -> TreeRoot | None:
    """Build a tree of `entries`, which ascend strictly by path; None if there are none."""
    return _build_upper_levels(nodes, _cut_level(nodes, LEAF, 0, entries), 1)


def get_tree_entry(nodes: NodeCache, root: TreeRoot | None, path: str) -> NodeEntry | None:
    """Return the entry at `path`, or None."""
    line = _first_entry_from(nodes, root, path)
    return line if line and line[0] == path else None


def has_any_path(nodes: NodeCache, root: TreeRoot | None, paths: Sequence[str]) -> bool:
    """Tell whether there is an entry at one of `paths`, which ascend.

    One look-up serves all paths up to the entry that it finds.
    """
    following = ""
    for path in paths:
        if path > following:
            line = _first_entry_from(nodes, root, path)
            if line is None:
                return False
            following = line[0]
        if path == following:
            return True
    return False


def first_path_from(nodes: NodeCache, root: TreeRoot | None, path: str) -> str | None:
    """Return the first path that is not below `path`, or None."""
    line = _first_entry_from(nodes, root, path)
    return line[0] if line else None


def _first_entry_from(nodes: NodeCache, root: TreeRoot | None, path: str) -> NodeEntry | None:
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


def tree_depth(nodes: NodeCache, node_id: bytes, path: str = "") -> int:
    """Return the number of levels below a node, 0 for a leaf; reads the nodes that hold `path`."""
    depth = 0
    node = nodes.get(node_id)
    while node.kind != LEAF:
        node = nodes.get(node.entries[_place_for(node, path)][1])
        depth += 1
    return depth


def _place_for(node: TreeNode, path: str) -> int:
    """Return the place of the child of an inner node that holds `path` or would hold it."""
    return min(bisect_left(node.paths, path), len(node.paths) - 1)


def walk_tree(nodes: NodeCache, root: TreeRoot | None, start: str = "") -> Iterator[TreeEntry]:
    """Yield the entries in order, from the first whose path is not below `start`."""
    for node in walk_leaves(nodes.get, root, start):
        for line in node.entries:
            if line[0] >= start:
                yield TreeEntry(*line)


def walk_leaves(
    get: Callable[[bytes], TreeNode], root: TreeRoot | None, start: str = ""
) -> Iterator[TreeNode]:
    """Yield the leaf nodes in order, from the first that may hold `start`.

    `get` is `NodeCache.get`, or `NodeCache.peek` for a sweep over many nodes.
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


def update_tree(
    nodes: NodeCache, root: TreeRoot | None, edits: Iterable[EntryEdit]
) -> TreeRoot | None:
    """Return the tree with `edits`, which ascend strictly by path, applied.

    Removing a path that is not there changes nothing.
    """
    if root is None:  # they are not listed: they may be very many
        return build_tree(nodes, (entry for _, entry in edits if entry is not None))
    changes: Sequence[tuple[str, NodeEntry | None]] = list(edits)
    if not changes:
        return root
    height = tree_depth(nodes, root.node, changes[0][0])
    for level in range(height + 1):
        changes = _update_level(nodes, _Cursor(nodes, root, height - level), level, changes)
    return _build_upper_levels(
        nodes, [ChildEntry(*line) for _, line in changes if line is not None], height + 1
    )


class _Cursor:
    """A position among the nodes at a depth below the root."""

    def __init__(self, nodes: NodeCache, root: TreeRoot, depth: int) -> None:
        self._nodes = nodes
        self._root = root
        self._depth = depth
        self._ancestors: list[tuple[TreeNode, int]] = []
        self.node = nodes.get(root.node)

    def seek(self, path: str) -> None:
        """Go to the node for `path`."""
        self._ancestors.clear()
        node = self._nodes.get(self._root.node)
        for _ in range(self._depth):
            place = _place_for(node, path)
            self._ancestors.append((node, place))
            node = self._nodes.get(node.entries[place][1])
        self.node = node

    def advance(self) -> None:
        """Go to the next node of the level; this one must not be the last."""
        up = len(self._ancestors) - 1
        while self._ancestors[up][1] == len(self._ancestors[up][0].entries) - 1:
            up -= 1
        del self._ancestors[up + 1 :]
        parent, place = self._ancestors[up]
        self._ancestors[up] = (parent, place + 1)
        node = self._nodes.get(parent.entries[place + 1][1])
        while len(self._ancestors) < self._depth:
            self._ancestors.append((node, 0))
            node = self._nodes.get(node.entries[0][1])
        self.node = node

    def is_last(self) -> bool:
        """Tell whether this is the last node of its level."""
        return all(place == len(node.entries) - 1 for node, place in self._ancestors)


def _update_level(
    nodes: NodeCache, cursor: _Cursor, level: int, changes: Sequence[tuple[str, NodeEntry | None]]
) -> list[tuple[str, NodeEntry | None]]:
    """Apply `changes` to one level; return the resulting changes of the level above."""
    above: dict[str, NodeEntry | None] = {}
    kind = LEAF if level == 0 else INNER
    start = 0
    while start < len(changes):
        cursor.seek(changes[start][0])
        pending: list[NodeEntry] = []
        while True:
            old = cursor.node
            above.setdefault(old.last, None)
            is_last = cursor.is_last()
            stop = len(changes) if is_last else _index_after(changes, start, old.last)
            here = changes[start:stop]
            if not pending and (lines := _find_replacements(old, here)) is not None:
                # Cuts depend on paths only, so this node ends where it did.
                above[old.last] = _add_child(nodes, old.replace_entries(lines))
                start = stop
                break
            for line in _merge_changes(old, here):
                pending.append(line)
                if is_node_boundary(level, line[0], len(pending)):
                    _close_node(nodes, kind, pending, above, old)
                    pending = []
            start = stop
            if not pending:
                break
            if is_last:
                _close_node(nodes, kind, pending, above, old)
                break
            cursor.advance()
    return sorted(above.items(), key=entry_path)


def _index_after(changes: Sequence[tuple[str, NodeEntry | None]], start: int, path: str) -> int:
    place = bisect_left(changes, path, lo=start, key=entry_path)
    return place + (place < len(changes) and changes[place][0] == path)


def _find_replacements(
    node: TreeNode, changes: Sequence[tuple[str, NodeEntry | None]]
) -> dict[int, NodeEntry] | None:
    """Return the new entries by their places, or None if paths are added or removed."""
    paths = node.paths
    lines = {}
    for path, line in changes:
        place = bisect_left(paths, path)
        if line is None or place == len(paths) or paths[place] != path:
            return None
        lines[place] = line
    return lines


def _merge_changes(
    node: TreeNode, changes: Sequence[tuple[str, NodeEntry | None]]
) -> Iterator[NodeEntry]:
    entries, paths = node.entries, node.paths
    start = 0
    for path, line in changes:
        place = bisect_left(paths, path, start)
        yield from entries[start:place]
        start = place + (place < len(paths) and paths[place] == path)
        if line is not None:
            yield line
    yield from entries[start:]


def _close_node(
    nodes: NodeCache,
    kind: int,
    lines: Sequence[NodeEntry],
    above: dict[str, NodeEntry | None],
    old: TreeNode,
) -> None:
    node = TreeNode(kind, tuple(lines))
    node.reuse_rows(old)
    above[node.last] = _add_child(nodes, node)


def _add_child(nodes: NodeCache, node: TreeNode) -> ChildEntry:
    count, size = node.totals()
    return ChildEntry(node.last, nodes.add(node), count, size)


def _cut_level(
    nodes: NodeCache, kind: int, level: int, lines: Iterable[NodeEntry]
) -> list[ChildEntry]:
    out = []
    pending: list[NodeEntry] = []
    for line in lines:
        pending.append(line)
        if is_node_boundary(level, line[0], len(pending)):
            out.append(_add_child(nodes, TreeNode(kind, tuple(pending))))
            pending = []
    if pending:
        out.append(_add_child(nodes, TreeNode(kind, tuple(pending))))
    return out


def _build_upper_levels(
    nodes: NodeCache, children: list[ChildEntry], level: int
) -> TreeRoot | None:
    """Build inner levels over `children`, the nodes of the level below, up to one root."""
    while len(children) > 1:
        children = _cut_level(nodes, INNER, level, children)
        level += 1
    if not children:
        return None
    _, node_id, count, size = children[0]
    # A tree that shrank may have nodes with one child at its top, but the root is the lowest
    # level with one node.
    while (node := nodes.get(node_id)).kind == INNER and len(node.entries) == 1:
        node_id = node.entries[0][1]
    return TreeRoot(node_id, count, size)


class Difference(NamedTuple):
    """A path whose entries differ; None if the path is missing."""

    path: str
    before: TreeEntry | None
    after: TreeEntry | None


def diff_trees(
    nodes: NodeCache, before: TreeRoot | None, after: TreeRoot | None
) -> Iterator[Difference]:
    """Yield the differences from `before` to `after`, in the order of paths.

    Both trees are read level by level from the top. A node that both trees have is skipped: the
    same id means the same entries. The remaining leaves are merged by path.
    """
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
