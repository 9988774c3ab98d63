"""Trees: lists of paths and the roots they give."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from brain.digest import blob_id
from brain.objects import tree
from brain.objects.node_cache import NodeCache
from brain.objects.tree_node import (
    FILE,
    INNER,
    MAX_NODE_ENTRIES,
    MIN_NODE_ENTRIES,
    TreeEntry,
    is_node_boundary,
)
from tests.support.cases import read_cases
from tests.support.node_store import MemoryNodeStore
from tests.vectors.families.vector import Vector, valid

CASES = read_cases(__file__)


def entries(paths: Sequence[str]) -> list[TreeEntry]:
    """Return the entries that a tree vector means: files that hold their own path."""
    return [TreeEntry(path, FILE, blob_id(path.encode()), len(path.encode())) for path in paths]


def numbered(total: int) -> dict[str, Any]:
    """Return the input of a vector of `total` names that differ in a number."""
    return {"numbered": {"before": "note-", "digits": 6, "after": "/SKILL.md", "count": total}}


def paths_of(given: dict[str, Any]) -> list[str]:
    """Return the sorted paths that the input of a tree vector stands for."""
    if "paths" in given:
        return [str(path) for path in given["paths"]]
    rule = given["numbered"]
    numbers = (f"{number:0{rule['digits']}}" for number in range(rule["count"]))
    return [f"{rule['before']}{number}{rule['after']}" for number in numbers]


def vectors() -> Iterator[Vector]:
    """Yield the vectors of trees."""
    for total in (0, 1, 2, 23, 24, 25, 57, 58, 59, 100, 161, 162, 163, 324, 1000, 3000, 10_000):
        yield _tree(f"{total} entries", numbered(total))
    awkward = CASES["vectors"]
    yield _tree("names in the order of their bytes", {"paths": sorted(awkward, key=str.encode)})
    never = _mined(2 * MAX_NODE_ENTRIES, lambda place: MAX_NODE_ENTRIES)
    yield _tree("names mined never to cut", {"paths": never})
    yield _tree("one name less, mined never to cut", {"paths": never[1:]})
    always = _mined(MIN_NODE_ENTRIES * MIN_NODE_ENTRIES + 1, lambda place: MIN_NODE_ENTRIES)
    yield _tree("names mined to cut as early as can be", {"paths": always})


def _mined(total: int, ends_at: Any) -> list[str]:
    """Return ascending names, each of which ends a node at the count `ends_at` says, no earlier."""
    out: list[str] = []
    for place in range(total):
        goal = ends_at(place)
        names = (f"{place:04}-{nonce}" for nonce in count())
        out.append(next(name for name in names if _first_end(name) == goal))
    return out


def _first_end(name: str) -> int:
    if is_node_boundary(0, name, MIN_NODE_ENTRIES):
        return MIN_NODE_ENTRIES
    return MAX_NODE_ENTRIES if not is_node_boundary(0, name, MAX_NODE_ENTRIES - 1) else 0


def _tree(name: str, given: dict[str, Any]) -> Vector:
    nodes = MemoryNodeStore().open_nodes()
    root = tree.build_tree(nodes, entries(paths_of(given)))
    if root is None:
        return valid(name, "tree", given, root="", files=0, bytes=0, levels=[])
    return valid(
        name,
        "tree",
        given,
        root=root.node.hex(),
        files=root.files,
        bytes=root.bytes,
        levels=_sizes(nodes, root.node),
    )


def _sizes(nodes: NodeCache, root: bytes) -> list[list[int]]:
    """Return the entries of every node, level by level from the root down."""
    level = [nodes.get(root)]
    out = [[len(node.entries) for node in level]]
    while level[0].kind == INNER:
        level = [nodes.get(line[1]) for node in level for line in node.entries]
        out.append([len(node.entries) for node in level])
    return out
