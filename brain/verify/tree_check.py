"""Check that a tree is canonical, at the cost of what differs from a tree already checked.

Given that the tree before is canonical, only new nodes are checked, level by level
from the top, so a lineage is checked at the cost of its changes and in flat memory.
For each new node: its kind fits its level; it ends where the cut rule says and nowhere
else, except at the right edge; its parent's claims about it (last path, files, bytes)
are true; and its paths lie between those of its neighbours. `object_check` checks that
nodes hash to their ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..errors import FormatError, InvalidInput, ObjectError
from ..objects import paths
from ..objects.bundle import State
from ..objects.node_cache import NodeCache
from ..objects.tree import TreeRoot, tree_depth
from ..objects.tree_node import (
    INNER,
    LEAF,
    MIN_NODE_ENTRIES,
    NodeEntry,
    TreeEntry,
    TreeNode,
    is_node_boundary,
)


class SectionDiff(NamedTuple):
    """The difference of a section: entries of the tree before that are gone, and new ones."""

    section: str
    old_entries: list[NodeEntry]
    new_entries: list[NodeEntry]

    def walk_new_entries(self) -> Iterator[tuple[str, TreeEntry]]:
        """Yield the new entries with their full paths."""
        return (
            (paths.join_section(self.section, line[0]), TreeEntry(*line))
            for line in self.new_entries
        )

    def walk_added_paths(self) -> Iterator[str]:
        """Yield the full paths of entries where nothing was before."""
        gone = {line[0] for line in self.old_entries}
        return (
            paths.join_section(self.section, line[0])
            for line in self.new_entries
            if line[0] not in gone
        )


class _NodeToCheck(NamedTuple):
    """A node to check: the entry of its parent, and the path after which it must start."""

    entry: NodeEntry
    after_path: str
    is_rightmost: bool


class _OldTree:
    def __init__(self, nodes: NodeCache, root: TreeRoot | None) -> None:
        self._nodes = nodes
        self.level: list[bytes] = [root.node] if root else []
        self.depth = tree_depth(nodes, root.node) if root else -1
        self.entry_by_node: dict[bytes, NodeEntry] = {}
        self.path_before_node: dict[bytes, str] = {}
        self.entries: list[NodeEntry] = []
        self.right_edge = _right_edge(nodes, root.node) if root else set()

    def paths_by_last(self, shared: set[bytes]) -> dict[str, list[str]]:
        """Return the paths in each node of the level that is not `shared`, by the last one."""
        nodes = (self._nodes.get(node_id) for node_id in self.level if node_id not in shared)
        return {node.last: node.paths for node in nodes}

    def open_level(self, shared: set[bytes]) -> None:
        """Go one level down, below the nodes that are not `shared`."""
        below = []
        for node_id in self.level:
            if node_id in shared:
                continue
            node = self._nodes.get(node_id)
            if node.kind == LEAF:
                self.entries += node.entries
                continue
            previous = ""
            for line in node.entries:
                self.entry_by_node[line[1]] = line
                self.path_before_node[line[1]] = previous
                previous = line[0]
                below.append(line[1])
        self.level = below
        self.depth -= 1


def check_bundles(before: State, after: State) -> Iterator[SectionDiff]:
    """Check the sections of `after` that differ; yield what is different in each.

    Raises `FormatError` (`bad_tree`, `bad_path`), naming the place, and what the
    loader of nodes raises.
    """
    for section, root in after.sections.items():
        old = before.sections.get(section)
        if old == root:
            continue
        gone, fresh = _diff_entries(*_check_tree(after.nodes, old, root))
        for line in fresh:
            _check_path(section, line[0])
        yield SectionDiff(section, gone, fresh)


def _check_path(section: str, path: str) -> None:
    if section == paths.TOP_SECTION and "/" in path:
        message = f'"{path}" is a path with folders among the files at the top'
        raise ObjectError(message, code="bad_path")
    try:
        paths.check_path(paths.join_section(section, path))
    except InvalidInput as error:
        raise ObjectError(error.message, code="bad_path") from error


def _check_tree(
    nodes: NodeCache, before: TreeRoot | None, after: TreeRoot
) -> tuple[list[NodeEntry], list[NodeEntry]]:
    top = nodes.get(after.node)
    if top.kind == INNER and len(top.entries) < 2:
        raise _tree_error("its root has a single child")
    depth = tree_depth(nodes, after.node)
    old = _OldTree(nodes, before)
    level = [_NodeToCheck((top.last, after.node, after.files, after.bytes), "", True)]
    found: list[NodeEntry] = []
    while level:
        while old.depth > depth:
            old.open_level(set())
        known = set(old.level) if old.depth == depth else set()
        shared = {new.entry[1] for new in level if new.entry[1] in known}
        old_paths_by_last = old.paths_by_last(shared) if known else {}
        below: list[_NodeToCheck] = []
        for new in level:
            if new.entry[1] in shared:
                _check_shared_node(nodes, old, new, depth)
                continue
            node = nodes.get(new.entry[1])
            _check_node(node, new, depth, old_paths_by_last.get(new.entry[0], []))
            if node.kind == LEAF:
                found += node.entries
            else:
                below += _child_nodes(node, new)
        if old.depth == depth:
            old.open_level(shared)
        level, depth = below, depth - 1
    while old.depth >= 0:  # a tree that was deeper is opened to the leaves by now
        old.open_level(set())
    return old.entries, found


def _diff_entries(
    old: list[NodeEntry], new: list[NodeEntry]
) -> tuple[list[NodeEntry], list[NodeEntry]]:
    if not old:
        return [], new
    if len(old) == len(new):
        pairs = [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]]
        if all(
            was[0] == now[0] for was, now in pairs
        ):  # no path was added or removed: the usual case
            return [was for was, _ in pairs], [now for _, now in pairs]
    before, after = set(old), set(new)
    return [line for line in old if line not in after], [line for line in new if line not in before]


def _child_nodes(node: TreeNode, new: _NodeToCheck) -> Iterator[_NodeToCheck]:
    after_path = new.after_path
    final = node.entries[-1]
    for line in node.entries:
        yield _NodeToCheck(line, after_path, new.is_rightmost and line is final)
        after_path = line[0]


def _check_node(node: TreeNode, new: _NodeToCheck, depth: int, old_paths: list[str]) -> None:
    """Check a new node; `old_paths` are those of the old node with the same last path."""
    last, _, count, size = new.entry
    if node.kind != (LEAF if depth == 0 else INNER):
        raise _tree_error(f"there is a node of the wrong kind above {last}")
    if (node.last, *node.totals()) != (last, count, size):
        raise _tree_error(f"the parent's entry for the node up to {last} is wrong")
    if depth == 0 and node.entries[0][0] <= new.after_path and new.after_path:
        raise _tree_error(f"its paths are out of order at {node.entries[0][0]}")
    inside = (
        node.paths[MIN_NODE_ENTRIES - 1 : -1] if node.paths != old_paths else []
    )  # cuts are by path alone
    for place, path in enumerate(inside, MIN_NODE_ENTRIES):
        if is_node_boundary(depth, path, place):
            raise _tree_error(f"a node does not end after {path}, where it must")
    if not new.is_rightmost and not is_node_boundary(depth, node.last, len(node.entries)):
        raise _tree_error(f"a node ends after {node.last}, where it must not")


def _check_shared_node(nodes: NodeCache, old: _OldTree, new: _NodeToCheck, depth: int) -> None:
    """Check what does not follow from sharing the node with the tree before."""
    known = old.entry_by_node.get(new.entry[1])
    node = nodes.get(new.entry[1]) if known is None else None
    expected = known or (node and (node.last, new.entry[1], *node.totals()))
    if expected != new.entry:
        raise _tree_error(f"the parent's entry for the node up to {new.entry[0]} is wrong")
    if new.entry[1] in old.right_edge and not new.is_rightmost:
        _check_right_boundary(nodes, new.entry[1], depth)
    as_before = old.path_before_node.get(new.entry[1]) == new.after_path
    if new.after_path and not as_before and _first_path(nodes, new.entry[1]) <= new.after_path:
        raise _tree_error(f"its paths are out of order after {new.after_path}")


def _check_right_boundary(nodes: NodeCache, node_id: bytes, depth: int) -> None:
    """Check that a node that left the right edge ends with cuts on all levels below."""
    while True:
        node = nodes.get(node_id)
        if not is_node_boundary(depth, node.last, len(node.entries)):
            raise _tree_error(f"a node ends after {node.last}, where it must not")
        if node.kind == LEAF:
            return
        node_id, depth = node.entries[-1][1], depth - 1


def _first_path(nodes: NodeCache, node_id: bytes) -> str:
    node = nodes.get(node_id)
    while node.kind == INNER:
        node = nodes.get(node.entries[0][1])
    return str(node.entries[0][0])


def _right_edge(nodes: NodeCache, node_id: bytes) -> set[bytes]:
    edge = {node_id}
    node = nodes.get(node_id)
    while node.kind == INNER:
        node_id = node.entries[-1][1]
        edge.add(node_id)
        node = nodes.get(node_id)
    return edge


def _tree_error(problem: str) -> FormatError:
    return ObjectError(f"the tree is not canonical: {problem}", code="bad_tree")
