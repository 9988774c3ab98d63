"""Nodes of a tree: their entries, the rule that cuts them, their encoding and their ids.

A node is the canonical MessagePack of `[kind, [entry, …]]`: kind 0 (a leaf) holds `TreeEntry`s,
kind 1 (an inner node) holds `ChildEntry`s. Its id is the Merkle root, in the shape of RFC 6962,
over the hashes of its entries. Both kinds of entries and the joining of hashes have domains
of their own. So an audit path proves one entry. The last path of a `ChildEntry` is hashed by
itself first, so that a proof discloses no other path.

A node of a level ends after its c-th entry if c ≥ 24 and u < c³, where u are 22 bits of a hash
of the entry's path, salted by the level. So the chance of a cut rises with the cube of the
count (a Weibull hazard of shape 4 and scale 64), which gives nodes of about 58 entries with
little spread. At c = 162 the cut is certain, since 162³ > 2²². So each node except the last of
its level has 24 to 162 entries, even if an attacker chooses the paths. Cuts depend on paths
only, neither on content nor on the order of edits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter, lt
from typing import Any

from .. import merkle
from ..digest import DIGEST_SIZE, domain_hash
from ..encoding import pack, unpack_unchecked
from ..errors import FormatError, ObjectError, corrupt_object_error, malformed_object_error
from ..named_tuple import NamedTuple

FILE = 0
EXECUTABLE = 1
LINK = 2
ENTRY_KIND_NAMES = ("file", "executable", "link")
"""The kinds by name, indexed by FILE, EXECUTABLE and LINK."""

MAX_SAFE_INTEGER = (1 << 53) - 1
"""Largest size, count, or sum of either: the largest integer that every JSON reader supports."""


class TreeEntry(NamedTuple):
    """A file of a section.

    `path` is relative to the section; `kind` is FILE, EXECUTABLE or LINK; `blob`
    is the id of the content (of the target's text, for a link); `size` is in bytes.
    """

    path: str
    kind: int
    blob: bytes
    size: int


class ChildEntry(NamedTuple):
    """A child of an inner node: its last path, its id, its files and their bytes."""

    last_path: str
    node_id: bytes
    files: int
    bytes: int


MIN_NODE_ENTRIES = 24
MAX_NODE_ENTRIES = 162

_hash_path = domain_hash("brain v1 tree cut")


def is_node_boundary(level: int, path: str, count: int) -> bool:
    """Tell whether a node of `level` (0 is leaves) ends after its `count`-th entry, `path`."""
    if count < MIN_NODE_ENTRIES:
        return False
    digest = _hash_path(bytes((level,)) + path.encode())
    return int.from_bytes(digest[:3], "big") >> 2 < count * count * count


LEAF = 0
INNER = 1

_JOIN_CONTEXT = "brain v1 merkle join"
join_hashes = domain_hash(_JOIN_CONTEXT)
_entry_hashes = (domain_hash("brain v1 tree leaf"), domain_hash("brain v1 tree inner"))
_hash_last_path = domain_hash("brain v1 tree last")

NodeEntry = tuple[str, Any, Any, int]
"""The fields of a `TreeEntry` or a `ChildEntry`."""

entry_path = itemgetter(0)
_entry_files = itemgetter(2)
_entry_bytes = itemgetter(3)


def entry_hash(entry: NodeEntry) -> bytes:
    """Return the hash of a `TreeEntry` in the Merkle tree of its leaf."""
    return _entry_hashes[LEAF](pack(entry))


def child_hash(last_path: bytes, node: bytes, files: int, size: int) -> bytes:
    """Return the hash of a `ChildEntry`, given the hash of its last path."""
    return _entry_hashes[INNER](pack((last_path, node, files, size)))


def last_path_hash(path: str) -> bytes:
    """Return the hash of the last path of a `ChildEntry`."""
    return _hash_last_path(path.encode())


def _hash_entries(kind: int, entries: Iterable[NodeEntry]) -> list[bytes]:
    hash_entry = _entry_hashes[kind]
    if kind == LEAF:
        return [hash_entry(pack(entry)) for entry in entries]
    return [hash_entry(pack((_hash_last_path(path.encode()), *rest))) for path, *rest in entries]


class TreeNode:
    """A frozen node; `paths` are those of its entries. Its hashes are computed on first use."""

    __slots__ = ("_rows", "entries", "kind", "last", "paths")

    def __init__(
        self, kind: int, entries: tuple[NodeEntry, ...], paths: list[str] | None = None
    ) -> None:
        self.kind = kind
        self.entries = entries
        self.paths = [line[0] for line in entries] if paths is None else paths
        self.last = self.paths[-1]
        self._rows: list[list[bytes]] | None = None

    def encode(self) -> bytes:
        """Return the canonical bytes."""
        return pack((self.kind, self.entries))

    def rows(self) -> list[list[bytes]]:
        """Return the rows of the Merkle tree: hashes of the entries first, the root last."""
        if self._rows is None:
            self._rows = merkle.build_rows(_hash_entries(self.kind, self.entries), join_hashes)
        return self._rows

    def reuse_rows(self, old: TreeNode) -> None:
        """Compute the hashes, except those that `old`, a similar node, has already computed."""
        if old._rows is None or old.kind != self.kind:
            return
        hashes = dict(zip(old.entries, old._rows[0], strict=True))
        new = [entry for entry in self.entries if entry not in hashes]
        hashes.update(zip(new, _hash_entries(self.kind, new), strict=True))
        leaves = [hashes[entry] for entry in self.entries]
        self._rows = merkle.build_rows(leaves, join_hashes, old._rows)

    def replace_entries(self, replacements: Mapping[int, NodeEntry]) -> TreeNode:
        """Return the node with other entries, of the same paths, at some places."""
        entries = list(self.entries)
        for place, entry in replacements.items():
            entries[place] = entry
        node = TreeNode(self.kind, tuple(entries), self.paths)
        node.reuse_rows(self)
        return node

    @property
    def id(self) -> bytes:
        """The id, computed from the content."""
        return self.rows()[-1][0]

    def totals(self) -> tuple[int, int]:
        """Return the number of files below and the sum of their sizes in bytes."""
        is_leaf = self.kind == LEAF
        files = len(self.entries) if is_leaf else sum(map(_entry_files, self.entries))
        return files, sum(map(_entry_bytes, self.entries))


def decode_node(data: bytes) -> TreeNode:
    """Return the node that canonical `data` encodes.

    Raises `FormatError`: `bad_object` for another shape, `not_canonical` for entries out of
    order or another encoding. Does not check paths: verification and writing files do.
    """
    value = unpack_unchecked(data)
    try:
        kind, entries = value
        if type(kind) is not int or kind not in (LEAF, INNER):
            raise ValueError
        if not 1 <= len(entries) <= MAX_NODE_ENTRIES:
            raise ValueError
        _check_leaf_entries(entries) if kind == LEAF else check_child_entries(entries)
    except (TypeError, ValueError) as error:
        raise ObjectError("the object is not a node of a tree") from error
    node = TreeNode(kind, entries)
    if node.encode() != data:
        raise ObjectError("the node is not encoded in its shortest form", code="not_canonical")
    return node


def decode_verified_node(node_id: bytes, data: bytes) -> TreeNode:
    """Return the node that `data` encodes.

    Raises `FormatError` as `decode_node`, and `StoreError` (`corrupt_object`) for another id.
    """
    try:
        node = decode_node(data)
    except FormatError as error:
        raise malformed_object_error("node", node_id, error) from error
    if node.id != node_id:
        raise corrupt_object_error(node_id)
    return node


def _check_leaf_entries(entries: Sequence[NodeEntry]) -> None:
    paths, kinds, blobs, sizes = zip(*entries, strict=True)
    _check_columns(paths, blobs, kinds, sizes)
    if min(kinds) < 0 or max(kinds) > LINK or min(sizes) < 0 or sum(sizes) > MAX_SAFE_INTEGER:
        raise ValueError
    _check_ascending(paths)


def check_child_entries(entries: Sequence[NodeEntry]) -> None:
    """Raise unless every entry is (text, digest, count ≥ 1, bytes ≥ 0), ascending by text.

    Neither sum exceeds `MAX_SAFE_INTEGER`. Raises `ValueError` or `TypeError`, and
    `FormatError` (`not_canonical`) for the order.
    """
    names, ids, counts, sizes = zip(*entries, strict=True)
    _check_columns(names, ids, counts, sizes)
    if min(counts) < 1 or min(sizes) < 0 or max(sum(counts), sum(sizes)) > MAX_SAFE_INTEGER:
        raise ValueError
    _check_ascending(names)


def _check_columns(names: Sequence[Any], ids: Sequence[Any], *numbers: Sequence[Any]) -> None:
    columns = ((names, str), (ids, bytes), *((column, int) for column in numbers))
    if any(set(map(type, values)) != {kind} for values, kind in columns):
        raise ValueError
    if set(map(len, ids)) != {DIGEST_SIZE}:
        raise ValueError


def _check_ascending(names: Sequence[str]) -> None:
    if not all(map(lt, names, names[1:])):
        raise ObjectError(
            "the entries of the object are out of order, or one is there twice",
            code="not_canonical",
        )
