"""Nodes in memory for tests, with a count of what is loaded."""

from __future__ import annotations

from collections.abc import Iterable

from brain.digest import blob_id
from brain.objects.entry import FILE, Entry
from brain.objects.node import INNER, Node
from brain.objects.nodes import Nodes


class Shelf:
    """Encoded nodes by id; `loads` lists the ids that were read."""

    def __init__(self) -> None:
        self.stored: dict[bytes, bytes] = {}
        self.loads: list[bytes] = []

    def load(self, node_id: bytes) -> bytes:
        self.loads.append(node_id)
        return self.stored[node_id]

    def nodes(self) -> Nodes:
        """Return access that has read nothing yet."""
        self.loads.clear()
        return Nodes(self.load)

    def settle(self, nodes: Nodes) -> None:
        """Store what was built, as a transaction does."""
        self.stored.update(nodes.fresh)
        nodes.settled()


def entry(path: str, content: str = "") -> Entry:
    """Return a file at `path` whose content is the path and `content`."""
    text = (path + content).encode()
    return Entry(path, FILE, blob_id(text), len(text))


def entries(paths: Iterable[str], content: str = "") -> list[Entry]:
    """Return entries of `paths`, in order."""
    return [entry(path, content) for path in sorted(paths)]


def levels(nodes: Nodes, node_id: bytes) -> list[list[Node]]:
    """Return all nodes of a tree, level by level from the root down."""
    out = [[nodes.get(node_id)]]
    while out[-1][0].kind == INNER:
        out.append([nodes.get(line[1]) for node in out[-1] for line in node.entries])
    return out
