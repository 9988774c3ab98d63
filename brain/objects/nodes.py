"""Nodes at hand: read through a loader, kept while they are likely to be read again."""

from __future__ import annotations

from collections.abc import Callable

from .node import Line, Node, decode, proven

KEPT = 2048
"""Decoded nodes kept in memory, about 20 KB each."""
KEPT_SWEPT = 512
"""Of more nodes than this, those of a sweep are not kept."""
KEPT_FRESH = 256
"""Of more new nodes than this, the later ones are kept as bytes alone."""


class Nodes:
    """Access to the nodes of trees.

    `load` returns the bytes of a node by its id, which are hashed to it. What is built is
    kept in `fresh` (id to bytes) until the caller has stored it and calls `settled`, or
    does not want it stored and calls `dropped`. What is stored is not built anew while it
    is at hand.
    """

    def __init__(self, load: Callable[[bytes], bytes]) -> None:
        self._load = load
        self._kept: dict[bytes, Node] = {}
        self._stored: dict[tuple[Line, ...], bytes] = {}
        self.fresh: dict[bytes, bytes] = {}

    def get(self, node_id: bytes) -> Node:
        """Return a node. Raises what the loader raises, and as `node.proven`."""
        node = self._kept.get(node_id)
        if node is None:
            data = self.fresh.get(node_id)
            node = proven(node_id, self._load(node_id)) if data is None else decode(data)
            self.keep(node_id, node)
            if data is None:
                self._stored[node.entries] = node_id
        return node

    def glance(self, node_id: bytes) -> Node:
        """Return a node that may not be read again: it is kept only while few are.

        A sweep would hold a whole tree, and push out what is read often. Raises as `get`.
        """
        if node_id in self._kept or len(self._kept) < KEPT_SWEPT:
            return self.get(node_id)
        data = self.fresh.get(node_id)
        return proven(node_id, self._load(node_id)) if data is None else decode(data)

    def add(self, node: Node) -> bytes:
        """Take a new node in; return its id."""
        stored = self._stored.get(node.entries)
        if stored is not None:
            return stored
        node_id = node.id
        if node_id not in self.fresh:
            self.fresh[node_id] = node.encode()
        if len(self.fresh) < KEPT_FRESH:  # a whole new tree is rather stored than kept
            self.keep(node_id, node)
        return node_id

    def settled(self) -> None:
        """Take note that what is fresh is now stored."""
        for node_id in self.fresh:
            node = self._kept.get(node_id)
            if node is not None:
                self._stored[node.entries] = node_id
        self.fresh.clear()

    def dropped(self) -> None:
        """Take note that what is fresh will not be stored."""
        for node_id in self.fresh:
            self._kept.pop(node_id, None)
        self.fresh.clear()

    def forget(self) -> None:
        """Forget everything: what was built has not been stored after all."""
        self.fresh.clear()
        self._kept.clear()
        self._stored.clear()

    def keep(self, node_id: bytes, node: Node) -> None:
        """Keep a node at hand."""
        if len(self._kept) >= KEPT:
            for old in list(self._kept)[: KEPT // 4]:
                self._stored.pop(self._kept.pop(old).entries, None)
        self._kept[node_id] = node
