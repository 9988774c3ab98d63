"""Trees of well-formed nodes that are not the one canonical tree of their entries."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from brain.objects.tree_node import (
    INNER,
    LEAF,
    MIN_NODE_ENTRIES,
    NodeEntry,
    TreeEntry,
    TreeNode,
    is_node_boundary,
)
from tests.vectors.families.trees import entries
from tests.vectors.families.vector import Vector, refused, valid


def _sorted_names() -> tuple[list[str], list[str]]:
    """Return the names of a full first node of 24 entries, and 23 that cut nowhere."""
    first = [f"a{place:02}" for place in range(MIN_NODE_ENTRIES - 1)]
    first.append(
        next(
            name
            for name in map("b{}".format, count())
            if is_node_boundary(0, name, MIN_NODE_ENTRIES)
        )
    )
    return first, [f"c{place:02}" for place in range(MIN_NODE_ENTRIES - 1)]


FIRST, SECOND = map(entries, _sorted_names())


_UNFIT = [
    ("a path with a part that is none", "bad_path", ["a/../b"]),
    ("a path of version control", "bad_path", ["a", "b/.git/config"]),
    ("a path with an invisible code point", "bad_path", ["a\u2060"]),
    ("a name of 256 bytes", "bad_path", ["x" * 256]),
    ("a path that is too long with its section", "bad_path", ["/".join(["x" * 254] * 4)]),
    ("two names in two cases", "case_collision", ["a/X", "a/b", "a/x"]),
    ("a file and a folder", "path_conflict", ["a", "a-b", "a/b"]),
]
"""Trees that are canonical, and that no folder can hold."""


def _leaf(lines: Sequence[TreeEntry]) -> TreeNode:
    return TreeNode(LEAF, tuple(lines))


def _above(*nodes: TreeNode) -> list[NodeEntry]:
    return [(node.last, node.id, *node.totals()) for node in nodes]


def _inner(*nodes: TreeNode) -> TreeNode:
    return TreeNode(INNER, tuple(_above(*nodes)))


def _changed(node: TreeNode, place: int, field: int, value: Any) -> TreeNode:
    lines = [list(line) for line in node.entries]
    lines[place][field] = value
    return TreeNode(node.kind, tuple((a, b, c, d) for a, b, c, d in lines))


def _given(root: TreeNode, *below: TreeNode, **said: int) -> dict[str, Any]:
    files, size = root.totals()
    return {
        "root": root.id.hex(),
        "files": said.get("files", files),
        "bytes": said.get("bytes", size),
        "nodes": [node.encode().hex() for node in (root, *below)],
    }


def vectors() -> Iterator[Vector]:
    """Yield trees given by all their nodes; only the first is canonical."""
    one, two = _leaf(FIRST), _leaf(SECOND)
    top = _inner(one, two)
    kind = "tree-nodes"
    yield valid("two leaves below one node", kind, _given(top, one, two))
    for name, given in [
        ("one more file than there is", _given(top, one, two, files=48)),
        ("one byte less than there is", _given(top, one, two, bytes=top.totals()[1] - 1)),
        ("no cut where one must be", _given(_leaf([*FIRST, *SECOND]))),
        ("a root with one child", _given(_inner(two), two)),
        ("a root above the root", _given(_inner(top), top, one, two)),
        *_cut_elsewhere(),
        *_untrue(top, one, two),
        *_misplaced(one, two),
    ]:
        yield refused(name, kind, given, "bad_tree")
    for name, error, names in _UNFIT:
        yield refused(name, kind, _given(_leaf(entries(sorted(names)))), error)


def _cut_elsewhere() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, at in (("a cut after 10 entries", 10), ("a cut after 23 entries", 23)):
        left, right = _leaf(FIRST[:at]), _leaf([*FIRST[at:], *SECOND])
        yield name, _given(_inner(left, right), left, right)
    left, right = _leaf(SECOND[:1]), _leaf(SECOND[1:])
    yield "a cut in a tree of 23 entries", _given(_inner(left, right), left, right)


def _untrue(top: TreeNode, one: TreeNode, two: TreeNode) -> Iterator[tuple[str, dict[str, Any]]]:
    files, size = one.totals()
    for name, field, value in [
        ("a last path that is not in the node", 0, "bz"),
        ("a count that is one too high", 2, files + 1),
        ("bytes that are one too few", 3, size - 1),
    ]:
        yield name, _given(_changed(top, 0, field, value), one, two)


def _misplaced(one: TreeNode, two: TreeNode) -> Iterator[tuple[str, dict[str, Any]]]:
    early = _leaf([TreeEntry("A", *FIRST[0][1:]), *SECOND])
    yield "a path that belongs before its neighbours", _given(_inner(one, early), one, early)
    below = _inner(two)
    yield "an inner node beside a leaf", _given(_inner(one, below), one, below, two)
    again = TreeNode(LEAF, (*one.entries[-1:], *two.entries))
    yield "a path in two leaves", _given(_inner(one, again), one, again)
