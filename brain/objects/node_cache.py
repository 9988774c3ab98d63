"""Read nodes through a loader and keep those that are likely to be read again."""

from __future__ import annotations

from collections.abc import Callable

from .tree_node import NodeEntry, TreeNode, decode_node, decode_verified_node

MAX_CACHED_NODES = 2048
"""Decoded nodes kept in memory, about 20 KB each."""
MAX_CACHED_SWEEP_NODES = 512
"""Cached nodes from which on those of a sweep are not cached."""
MAX_CACHED_NEW_NODES = 256
"""New nodes from which on only bytes are kept."""


class NodeCache:
    """Access to the nodes of trees.

    `load` returns the bytes of a node by its id, against which they are checked. New nodes
    are kept in `unstored` (id to bytes) until the caller has stored them and calls
    `mark_stored`, or discards them and calls `drop_unstored`. Stored nodes are not hashed
    again while they are cached.
    """

    def __init__(self, load: Callable[[bytes], bytes]) -> None:
        self._load = load
        self._cached: dict[bytes, TreeNode] = {}
        self._id_by_entries: dict[tuple[NodeEntry, ...], bytes] = {}
        self.unstored: dict[bytes, bytes] = {}

    def get(self, node_id: bytes) -> TreeNode:
        """Return a node. Raises what the loader raises, and as `decode_verified_node`."""
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
        """Return a node for a sweep: it is cached only while few are.

        A sweep would fill the cache and evict nodes that are read often. Raises as `get`.
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
        """Add a new node; return its id."""
        stored = self._id_by_entries.get(node.entries)
        if stored is not None:
            return stored
        node_id = node.id
        if node_id not in self.unstored:
            self.unstored[node_id] = node.encode()
        if (
            len(self.unstored) < MAX_CACHED_NEW_NODES
        ):  # the nodes of a whole new tree are not cached
            self.put(node_id, node)
        return node_id

    def mark_stored(self) -> None:
        """Note that the new nodes are stored now."""
        for node_id in self.unstored:
            node = self._cached.get(node_id)
            if node is not None:
                self._id_by_entries[node.entries] = node_id
        self.unstored.clear()

    def drop_unstored(self) -> None:
        """Note that the new nodes will not be stored."""
        for node_id in self.unstored:
            self._cached.pop(node_id, None)
        self.unstored.clear()

    def clear(self) -> None:
        """Forget everything, new nodes included."""
        self.unstored.clear()
        self._cached.clear()
        self._id_by_entries.clear()

    def put(self, node_id: bytes, node: TreeNode) -> None:
        """Cache a node."""
        if len(self._cached) >= MAX_CACHED_NODES:
            for old in list(self._cached)[: MAX_CACHED_NODES // 4]:
                self._id_by_entries.pop(self._cached.pop(old).entries, None)
        self._cached[node_id] = node
