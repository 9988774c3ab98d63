"""Nodes of a tree: their encoding and their ids.

A node is the canonical MessagePack of `[kind, [entry, …]]`: kind 0 holds `Entry`s,
kind 1 `Child`s. Its id is the Merkle root, in the shape of RFC 6962, over the
hashes of its entries, where the entries of either kind and the joining of hashes
have domains of their own. So one entry is proven by the hashes beside its way up.
The path of a `Child` is hashed by itself first, so that a proof names none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import itemgetter, lt
from typing import Any

from .. import merkle
from ..digest import DIGEST_SIZE, domain_hash, hasher_factory
from ..encoding import pack, unpack_unchecked
from ..errors import FormatError, hash_mismatch_error
from .node_boundary import MAX_NODE_ENTRIES
from .tree_entry import LINK, MAX_SAFE_INTEGER

LEAF = 0
INNER = 1

_JOIN_CONTEXT = "brain v1 merkle join"
join_hashes = domain_hash(_JOIN_CONTEXT)
_new_join_hasher = hasher_factory(_JOIN_CONTEXT)
_new_entry_hashers = (hasher_factory("brain v1 tree leaf"), hasher_factory("brain v1 tree inner"))
_new_last_path_hasher = hasher_factory("brain v1 tree last")

NodeEntry = tuple[str, Any, Any, int]
"""An `Entry` (path, kind, blob, size) or a `Child` (last, node, count, bytes), as a bare tuple."""

entry_path = itemgetter(0)
_entry_files = itemgetter(2)
_entry_bytes = itemgetter(3)


def entry_hash(entry: NodeEntry) -> bytes:
    """Return the hash of an `Entry`, as the Merkle tree of its leaf has it."""
    return _new_entry_hashers[LEAF]()(pack(entry))


def child_hash(last: bytes, node: bytes, files: int, size: int) -> bytes:
    """Return the hash of a `Child` whose last path has the hash `last`."""
    return _new_entry_hashers[INNER]()(pack((last, node, files, size)))


def last_path_hash(path: str) -> bytes:
    """Return what stands for the last path of a `Child` where that is hashed."""
    return _new_last_path_hasher()(path.encode())


def _hash_entries(kind: int, lines: Iterable[NodeEntry]) -> list[bytes]:
    """Return the hashes of entries of a node of `kind`."""
    hash_of = _new_entry_hashers[kind]()
    if kind == LEAF:
        return [hash_of(pack(line)) for line in lines]
    last_of = _new_last_path_hasher()
    return [hash_of(pack((last_of(last.encode()), *rest))) for last, *rest in lines]


class TreeNode:
    """A frozen node. `paths` are those of its entries, for looking one up.

    Its hashes are computed when they are asked for.
    """

    __slots__ = ("_reusable_rows", "_rows", "entries", "kind", "last", "paths")

    def __init__(
        self, kind: int, entries: tuple[NodeEntry, ...], paths: list[str] | None = None
    ) -> None:
        self.kind = kind
        self.entries = entries
        self.paths = [line[0] for line in entries] if paths is None else paths
        self.last = self.paths[-1]
        self._rows: list[list[bytes]] | None = None
        self._reusable_rows: tuple[list[list[bytes]], Collection[int]] | None = None

    def encode(self) -> bytes:
        """Return the canonical bytes."""
        return pack((self.kind, self.entries))

    def rows(self) -> list[list[bytes]]:
        """Return the rows of the Merkle tree: hashes of the entries first, the root last."""
        if self._rows is None:
            self._rows = self._compute_rows()
            self._reusable_rows = None
        return self._rows

    def _compute_rows(self) -> list[list[bytes]]:
        if self._reusable_rows is None:
            return merkle.build_rows(_hash_entries(self.kind, self.entries), _new_join_hasher())
        rows, places = self._reusable_rows
        new = _hash_entries(self.kind, [self.entries[place] for place in places])
        return merkle.replace_leaves(rows, dict(zip(places, new, strict=True)), _new_join_hasher())

    def reuse_rows(self, old: TreeNode) -> None:
        """Take over for `rows` every hash that `old`, a similar node, already has."""
        if old._rows is None or old.kind != self.kind:
            return
        if len(old.entries) == len(self.entries):
            pairs = enumerate(zip(old.entries, self.entries, strict=True))
            self._reusable_rows = old._rows, [place for place, (was, now) in pairs if was != now]
            return
        known = dict(zip(old.entries, old._rows[0], strict=True))
        found = [known.get(entry) for entry in self.entries]
        new = [entry for entry, hashed in zip(self.entries, found, strict=True) if not hashed]
        fresh = iter(_hash_entries(self.kind, new))
        leaves = [hashed or next(fresh) for hashed in found]
        self._rows = merkle.build_rows(leaves, _new_join_hasher(), old._rows)

    def replace_entries(self, lines: Mapping[int, NodeEntry]) -> TreeNode:
        """Return the node with other lines, of the same paths, at some places."""
        entries = list(self.entries)
        for place, line in lines.items():
            entries[place] = line
        node = TreeNode(self.kind, tuple(entries), self.paths)
        if self._rows is not None:
            node._reusable_rows = self._rows, lines.keys()
        return node

    @property
    def id(self) -> bytes:
        """The id, computed from the content."""
        return self.rows()[-1][0]

    def totals(self) -> tuple[int, int]:
        """Return the number of files below and the sum of their sizes in bytes."""
        size = sum(map(_entry_bytes, self.entries))
        return len(self.entries) if self.kind == LEAF else sum(
            map(_entry_files, self.entries)
        ), size


def decode_node(data: bytes) -> TreeNode:
    """Return the node that canonical `data` encodes.

    Raises `FormatError`: `bad_object` for another shape, `not_canonical` for
    entries out of order or bytes that would not be written so. Paths are not
    checked here, but by `verify` and before files are written.
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
        raise FormatError("not a node of a tree", code="bad_object") from error
    node = TreeNode(kind, entries)
    if node.encode() != data:
        raise FormatError("the encoding is not the shortest one", code="not_canonical")
    return node


def decode_verified_node(node_id: bytes, data: bytes) -> TreeNode:
    """Return the node that `data` encodes, hashed to its id.

    Raises `FormatError` as `decode`, and `StoreError` (`corrupt_object`) for another id.
    """
    node = decode_node(data)
    if node.id != node_id:
        raise hash_mismatch_error(node_id)
    return node


def _check_leaf_entries(entries: Sequence[NodeEntry]) -> None:
    paths, kinds, blobs, sizes = zip(*entries, strict=True)
    _check_column(kinds, int)
    _check_column(blobs, bytes)
    _check_column(sizes, int)
    if set(map(len, blobs)) != {DIGEST_SIZE} or min(kinds) < 0 or max(kinds) > LINK:
        raise ValueError
    if min(sizes) < 0 or sum(sizes) > MAX_SAFE_INTEGER:
        raise ValueError
    _check_column(paths, str)
    check_ascending(paths)


def check_child_entries(entries: Sequence[NodeEntry]) -> None:
    """Raise unless every line is (text, digest, count ≥ 1, bytes ≥ 0), ascending by text.

    Neither sum is more than `MAX_SIZE`. Raises `ValueError` or `TypeError`, and
    `FormatError` (`not_canonical`) for the order.
    """
    names, ids, counts, sizes = zip(*entries, strict=True)
    _check_column(ids, bytes)
    _check_column(counts, int)
    _check_column(sizes, int)
    if set(map(len, ids)) != {DIGEST_SIZE} or min(counts) < 1 or min(sizes) < 0:
        raise ValueError
    if sum(counts) > MAX_SAFE_INTEGER or sum(sizes) > MAX_SAFE_INTEGER:
        raise ValueError
    _check_column(names, str)
    check_ascending(names)


def _check_column(values: Sequence[Any], kind: type) -> None:
    if set(map(type, values)) != {kind}:
        raise ValueError


def check_ascending(names: Sequence[str]) -> None:
    """Raise `FormatError` (`not_canonical`) unless `names` ascend strictly."""
    if not all(map(lt, names, names[1:])):
        raise FormatError("entries out of order, or one twice", code="not_canonical")
