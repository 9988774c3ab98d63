"""Trees of well-formed nodes that are not the one canonical tree of their entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from brain.objects.cut import FEWEST, ends_node
from brain.objects.entry import Entry
from brain.objects.node import INNER, LEAF, Line, Node

from .trees import entries
from .vector import Vector, refused, valid


def _sorted_names() -> tuple[list[str], list[str]]:
    """Return the names of a full first node of 24 entries, and 23 that cut nowhere."""
    first = [f"a{place:02}" for place in range(FEWEST - 1)]
    first.append(next(name for name in map("b{}".format, count()) if ends_node(0, name, FEWEST)))
    return first, [f"c{place:02}" for place in range(FEWEST - 1)]


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


def _leaf(lines: Sequence[Entry]) -> Node:
    return Node(LEAF, tuple(lines))


def _above(*nodes: Node) -> list[Line]:
    return [(node.last, node.id, *node.totals()) for node in nodes]


def _inner(*nodes: Node) -> Node:
    return Node(INNER, tuple(_above(*nodes)))


def _changed(node: Node, place: int, field: int, value: Any) -> Node:
    lines = [list(line) for line in node.entries]
    lines[place][field] = value
    return Node(node.kind, tuple((a, b, c, d) for a, b, c, d in lines))


def _given(root: Node, *below: Node, **said: int) -> dict[str, Any]:
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


def _untrue(top: Node, one: Node, two: Node) -> Iterator[tuple[str, dict[str, Any]]]:
    files, size = one.totals()
    for name, field, value in [
        ("a last path that is not in the node", 0, "bz"),
        ("a count that is one too high", 2, files + 1),
        ("bytes that are one too few", 3, size - 1),
    ]:
        yield name, _given(_changed(top, 0, field, value), one, two)


def _misplaced(one: Node, two: Node) -> Iterator[tuple[str, dict[str, Any]]]:
    early = _leaf([Entry("A", *FIRST[0][1:]), *SECOND])
    yield "a path that belongs before its neighbours", _given(_inner(one, early), one, early)
    below = _inner(two)
    yield "an inner node beside a leaf", _given(_inner(one, below), one, below, two)
    again = Node(LEAF, (*one.entries[-1:], *two.entries))
    yield "a path in two leaves", _given(_inner(one, again), one, again)
