"""Tree nodes in memory, with a count of what is loaded."""

from collections.abc import Callable, Iterable

from brain.digest import blob_id
from brain.errors import NotFound
from brain.objects.node_cache import NodeCache
from brain.objects.tree_node import FILE, INNER, TreeEntry, TreeNode


class MemoryNodeStore:
    """Encoded nodes by id; `loads` lists the ids that were read."""

    def __init__(self) -> None:
        self.stored: dict[bytes, bytes] = {}
        self.loads: list[bytes] = []

    def load(self, node_id: bytes) -> bytes:
        self.loads.append(node_id)
        return self.stored[node_id]

    def open_nodes(self) -> NodeCache:
        """Return access that has read nothing yet."""
        self.loads.clear()
        return NodeCache(self.load)

    def store_new_nodes(self, nodes: NodeCache) -> None:
        """Store what was built, as a transaction does."""
        self.stored.update(nodes.unstored)
        nodes.mark_stored()


def file_entry(path: str, content: str = "") -> TreeEntry:
    """Return a file at `path` whose content is the path and `content`."""
    text = (path + content).encode()
    return TreeEntry(path, FILE, blob_id(text), len(text))


def file_entries(paths: Iterable[str], content: str = "") -> list[TreeEntry]:
    """Return entries of `paths`, in order."""
    return [file_entry(path, content) for path in sorted(paths)]


def tree_levels(nodes: NodeCache, node_id: bytes) -> list[list[TreeNode]]:
    """Return all nodes of a tree, level by level from the root down."""
    out = [[nodes.get(node_id)]]
    while out[-1][0].kind == INNER:
        out.append([nodes.get(line[1]) for node in out[-1] for line in node.entries])
    return out


class LinkReader:
    """The texts of links as a function returns them, None for one that is missing."""

    def __init__(self, read: Callable[[bytes], bytes | None]) -> None:
        self._read = read

    def blob_size(self, id: bytes) -> int:
        return len(self.read_blob(id))

    def read_blob(self, id: bytes) -> bytes:
        text = self._read(id)
        if text is None:
            raise NotFound("it is missing")
        return text
