"""Whether a tree is the one canonical tree of its entries, checked against a checked one.

Given that the tree before is canonical, only what the tree after does not share
with it is looked at, level by level from the top, so a lineage is checked at the
cost of its changes and with flat memory. For each node new in the tree after:
its kind fits its level; it is cut where the rule says and nowhere else, but for
the right edge; what its parent says of it (last path, files, bytes) is true; and
its paths lie between those of its neighbours. That a node hashes to its id is
checked elsewhere, for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..errors import FormatError, InvalidInput, printable
from ..objects import paths
from ..objects.bundle import Bundle
from ..objects.cut import FEWEST, ends_node
from ..objects.entry import Entry
from ..objects.node import INNER, LEAF, Line, Node
from ..objects.nodes import Nodes
from ..objects.tree import Root

_AT_ONCE = 256
"""Paths checked together."""


class Change(NamedTuple):
    """What differs in a section: entries of the tree before that are gone, and new ones."""

    section: str
    gone: list[Line]
    fresh: list[Line]

    def came(self) -> Iterator[tuple[str, Entry]]:
        """Yield the new entries with their full paths."""
        return ((paths.join(self.section, line[0]), Entry(*line)) for line in self.fresh)

    def new(self) -> Iterator[str]:
        """Yield the full paths of entries where nothing was before."""
        gone = {line[0] for line in self.gone}
        return (paths.join(self.section, line[0]) for line in self.fresh if line[0] not in gone)


class _New(NamedTuple):
    """A node to look at: what its parent says of it, and the path it must start beyond."""

    line: Line
    beyond: str
    at_right: bool


class _Old:
    """What is known of the tree before, opened as far as it differs."""

    def __init__(self, nodes: Nodes, root: Root | None) -> None:
        self._nodes = nodes
        self.level: list[bytes] = [root.node] if root else []
        self.depth = _depth(nodes, root.node) if root else -1
        self.lines: dict[bytes, Line] = {}
        self.before: dict[bytes, str] = {}
        self.entries: list[Line] = []
        self.right = _right_edge(nodes, root.node) if root else set()

    def paths(self, shared: set[bytes]) -> dict[str, list[str]]:
        """Return the paths in each node of the level that is not `shared`, by the last one."""
        nodes = (self._nodes.get(node_id) for node_id in self.level if node_id not in shared)
        return {node.last: node.paths for node in nodes}

    def open(self, shared: set[bytes]) -> None:
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
                self.lines[line[1]] = line
                self.before[line[1]] = previous
                previous = line[0]
                below.append(line[1])
        self.level = below
        self.depth -= 1


def check_bundles(nodes: Nodes, before: Bundle, after: Bundle) -> Iterator[Change]:
    """Check the sections of `after` that differ; yield what is different in each.

    Raises `FormatError` (`bad_tree`, `bad_path`), naming the place, and what the
    loader of nodes raises.
    """
    for section, root in after.items():
        old = before.get(section)
        if old == root:
            continue
        gone, fresh = _differing(*_check_tree(nodes, old, root))
        for start in range(0, len(fresh), _AT_ONCE):
            _check_paths(section, [line[0] for line in fresh[start : start + _AT_ONCE]])
        yield Change(section, gone, fresh)


def _check_paths(section: str, inner: list[str]) -> None:
    if paths.are_plain(section, inner):
        return
    for path in inner:
        if section == paths.TOP and "/" in path:
            raise FormatError("a folder among the files at the top", code="bad_path")
        try:
            paths.check(paths.join(section, path))
        except InvalidInput as error:
            raise FormatError(error.message, code="bad_path") from error


def _check_tree(nodes: Nodes, before: Root | None, after: Root) -> tuple[list[Line], list[Line]]:
    """Return the entries of the leaves that differ, of the tree before and of the one after."""
    top = nodes.get(after.node)
    if top.kind == INNER and len(top.entries) < 2:
        raise _bad("a root with a single child")
    depth = _depth(nodes, after.node)
    old = _Old(nodes, before)
    level = [_New((top.last, after.node, after.files, after.bytes), "", True)]
    found: list[Line] = []
    while level:
        while old.depth > depth:
            old.open(set())
        known = set(old.level) if old.depth == depth else set()
        shared = {new.line[1] for new in level if new.line[1] in known}
        twins = old.paths(shared) if known else {}
        below: list[_New] = []
        for new in level:
            if new.line[1] in shared:
                _check_shared(nodes, old, new, depth)
                continue
            node = nodes.get(new.line[1])
            _check_node(node, new, depth, twins.get(new.line[0], []))
            if node.kind == LEAF:
                found += node.entries
            else:
                below += _children(node, new)
        if old.depth == depth:
            old.open(shared)
        level, depth = below, depth - 1
    while old.depth >= 0:  # a tree that was deeper is opened to the leaves by now
        old.open(set())
    return old.entries, found


def _differing(old: list[Line], new: list[Line]) -> tuple[list[Line], list[Line]]:
    if not old:
        return [], new
    if len(old) == len(new):
        pairs = [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]]
        if all(was[0] == now[0] for was, now in pairs):  # no path came or went: the usual case
            return [was for was, _ in pairs], [now for _, now in pairs]
    before, after = set(old), set(new)
    return [line for line in old if line not in after], [line for line in new if line not in before]


def _children(node: Node, new: _New) -> Iterator[_New]:
    beyond = new.beyond
    final = node.entries[-1]
    for line in node.entries:
        yield _New(line, beyond, new.at_right and line is final)
        beyond = line[0]


def _check_node(node: Node, new: _New, depth: int, twin: list[str]) -> None:
    """Check a new node; `twin` are the paths of the node before that had the same last one."""
    last, _, count, size = new.line
    if node.kind != (LEAF if depth == 0 else INNER):
        raise _bad(f"a node of the wrong kind above {printable(last)}")
    if (node.last, *node.totals()) != (last, count, size):
        raise _bad(f"what is said of the node up to {printable(last)} is not true")
    if depth == 0 and node.entries[0][0] <= new.beyond and new.beyond:
        raise _bad(f"paths out of order at {printable(node.entries[0][0])}")
    inside = node.paths[FEWEST - 1 : -1] if node.paths != twin else []  # cuts are by path alone
    for place, path in enumerate(inside, FEWEST):
        if ends_node(depth, path, place):
            raise _bad(f"no cut after {printable(path)}, where there must be one")
    if not new.at_right and not ends_node(depth, node.last, len(node.entries)):
        raise _bad(f"a cut after {printable(node.last)}, where there must be none")


def _check_shared(nodes: Nodes, old: _Old, new: _New, depth: int) -> None:
    """Check what sharing a node with the tree before does not already tell."""
    known = old.lines.get(new.line[1])
    node = nodes.get(new.line[1]) if known is None else None
    said = known or (node and (node.last, new.line[1], *node.totals()))
    if said != new.line:
        raise _bad(f"what is said of the node up to {printable(new.line[0])} is not true")
    if new.line[1] in old.right and not new.at_right:
        _check_closed(nodes, new.line[1], depth)
    as_before = old.before.get(new.line[1]) == new.beyond
    if new.beyond and not as_before and _first_path(nodes, new.line[1]) <= new.beyond:
        raise _bad(f"paths out of order after {printable(new.beyond)}")


def _check_closed(nodes: Nodes, node_id: bytes, depth: int) -> None:
    """Check that a node that has left the right edge ends, all the way down, with cuts."""
    while True:
        node = nodes.get(node_id)
        if not ends_node(depth, node.last, len(node.entries)):
            raise _bad(f"a cut after {printable(node.last)}, where there must be none")
        if node.kind == LEAF:
            return
        node_id, depth = node.entries[-1][1], depth - 1


def _first_path(nodes: Nodes, node_id: bytes) -> str:
    node = nodes.get(node_id)
    while node.kind == INNER:
        node = nodes.get(node.entries[0][1])
    return str(node.entries[0][0])


def _right_edge(nodes: Nodes, node_id: bytes) -> set[bytes]:
    edge = {node_id}
    node = nodes.get(node_id)
    while node.kind == INNER:
        node_id = node.entries[-1][1]
        edge.add(node_id)
        node = nodes.get(node_id)
    return edge


def _depth(nodes: Nodes, node_id: bytes) -> int:
    depth = 0
    node = nodes.get(node_id)
    while node.kind == INNER:
        node = nodes.get(node.entries[0][1])
        depth += 1
    return depth


def _bad(what: str) -> FormatError:
    return FormatError(f"the tree is not canonical: {what}", code="bad_tree")
