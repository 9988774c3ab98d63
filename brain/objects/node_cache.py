"""Read nodes through a loader and keep those that are likely to be read again."""

from __future__ import annotations

from collections.abc import Callable

from .tree_node import NodeEntry, TreeNode, decode_node, decode_verified_node

MAX_CACHED_NODES = 2048
"""Decoded nodes kept in memory, about 20 KB each."""
MAX_CACHED_SWEEP_NODES = 512
"""Of more nodes than this, those of a sweep are not kept."""
MAX_CACHED_NEW_NODES = 256
"""Of more new nodes than this, the later ones are kept as bytes alone."""


class NodeCache:
    """Access to the nodes of trees.

    `load` returns the bytes of a node by its id, which are hashed to it. What is built is
    kept in `fresh` (id to bytes) until the caller has stored it and calls `settled`, or
    does not want it stored and calls `dropped`. What is stored is not built anew while it
    is at hand.
    """

    def __init__(self, load: Callable[[bytes], bytes]) -> None:
        self._load = load
        self._cached: dict[bytes, TreeNode] = {}
        self._id_by_entries: dict[tuple[NodeEntry, ...], bytes] = {}
        self.unstored: dict[bytes, bytes] = {}

    def get(self, node_id: bytes) -> TreeNode:
        """Return a node. Raises what the loader raises, and as `node.proven`."""
        node = self._cached.get(node_id)
        if node is None:
            data = self.unstored.get(node_id)
            node = (
                decode_verified_node(node_id, self._load(node_id))
                if data is None
                else decode_node(data)
            )
            self.put(node_id, node)
            if data is None:
                self._id_by_entries[node.entries] = node_id
        return node

    def peek(self, node_id: bytes) -> TreeNode:
        """Return a node that may not be read again: it is kept only while few are.

        A sweep would hold a whole tree, and push out what is read often. Raises as `get`.
        """
        if node_id in self._cached or len(self._cached) < MAX_CACHED_SWEEP_NODES:
            return self.get(node_id)
        data = self.unstored.get(node_id)
        return (
            decode_verified_node(node_id, self._load(node_id))
            if data is None
            else decode_node(data)
        )

    def add(self, node: TreeNode) -> bytes:
        """Take a new node in; return its id."""
        stored = self._id_by_entries.get(node.entries)
        if stored is not None:
            return stored
        node_id = node.id
        if node_id not in self.unstored:
            self.unstored[node_id] = node.encode()
        if len(self.unstored) < MAX_CACHED_NEW_NODES:  # a whole new tree is rather stored than kept
            self.put(node_id, node)
        return node_id

    def mark_stored(self) -> None:
        """Take note that what is fresh is now stored."""
        for node_id in self.unstored:
            node = self._cached.get(node_id)
            if node is not None:
                self._id_by_entries[node.entries] = node_id
        self.unstored.clear()

    def drop_unstored(self) -> None:
        """Take note that what is fresh will not be stored."""
        for node_id in self.unstored:
            self._cached.pop(node_id, None)
        self.unstored.clear()

    def clear(self) -> None:
        """Forget everything: what was built has not been stored after all."""
        self.unstored.clear()
        self._cached.clear()
        self._id_by_entries.clear()

    def put(self, node_id: bytes, node: TreeNode) -> None:
        """Keep a node at hand."""
        if len(self._cached) >= MAX_CACHED_NODES:
            for old in list(self._cached)[: MAX_CACHED_NODES // 4]:
                self._id_by_entries.pop(self._cached.pop(old).entries, None)
        self._cached[node_id] = node
