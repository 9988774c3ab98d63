"""Read nodes through a loader and cache those that are likely to be read again."""

from __future__ import annotations

from collections.abc import Callable

from .tree_node import NodeEntry, TreeNode, decode_node, decode_verified_node

MAX_CACHED_NODES = 2048
"""Decoded nodes kept in memory, about 20 KB each."""
MAX_CACHED_SWEEP_NODES = 512
"""Number of cached nodes from which on the nodes of a sweep are not cached."""
MAX_CACHED_NEW_NODES = 256
"""Number of new nodes from which on only their bytes are kept."""


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
            node = self._read(node_id)
            self.put(node_id, node)
            if node_id not in self.unstored:
                self._id_by_entries[node.entries] = node_id
        return node

    def _read(self, node_id: bytes) -> TreeNode:
        data = self.unstored.get(node_id)
        if data is not None:
            return decode_node(data)
        return decode_verified_node(node_id, self._load(node_id))

    def peek(self, node_id: bytes) -> TreeNode:
        """Return a node for a sweep, which is cached only while few nodes are.

        A sweep would fill the cache and evict nodes that are read often. Raises as `get`.
        """
        if node_id in self._cached or len(self._cached) < MAX_CACHED_SWEEP_NODES:
            return self.get(node_id)
        return self._read(node_id)

    def add(self, node: TreeNode) -> bytes:
        """Add a new node; return its id."""
        stored = self._id_by_entries.get(node.entries)
        if stored is not None:
            return stored
        node_id = node.id
        if node_id not in self.unstored:
            self.unstored[node_id] = node.encode()
        if len(self.unstored) < MAX_CACHED_NEW_NODES:  # else it may be a whole new tree
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
