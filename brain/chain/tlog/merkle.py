"""Hashes of an append-only log (RFC 6962): leaves and nodes, inclusion and consistency, and the
ranges of entries whose hashes a proof consists of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple

from ...merkle import AuditStep, root_from_path

HASH_BYTES = 32
"""Bytes in a hash."""
EMPTY_ROOT = sha256(b"").digest()
"""The root of the tree without leaves."""


def leaf_hash(data: bytes) -> bytes:
    """Return the hash of a leaf."""
    return sha256(b"\0" + data).digest()


def node_hash(pair: bytes) -> bytes:
    """Return the hash of two children, given as left ‖ right."""
    return sha256(b"\1" + pair).digest()


def is_included(root: bytes, size: int, index: int, leaf: bytes, path: Sequence[bytes]) -> bool:
    """Return whether the tree with a root and size has the leaf hash at `index`."""
    if not 0 <= index < size or not _are_hashes(root, leaf, *path):
        return False
    sides = _sibling_sides(index, size - 1)
    return (
        len(sides) == len(path)
        and root_from_path(leaf, _climb_steps(sides, path), node_hash) == root
    )


def is_consistent(
    old_size: int, old_root: bytes, new_size: int, new_root: bytes, path: Sequence[bytes]
) -> bool:
    """Return whether the new tree is the old one with zero or more leaves appended.

    False for an empty old tree: RFC 6962 defines no proof for it.
    """
    if not 0 < old_size <= new_size or not _are_hashes(old_root, new_root, *path):
        return False
    if old_size == new_size:
        return not path and old_root == new_root
    level = (old_size & -old_size).bit_length() - 1
    sides = _sibling_sides((old_size - 1) >> level, (new_size - 1) >> level)
    if old_size == 1 << level:  # the old tree is a subtree of the new one
        path = [old_root, *path]
    if len(path) != len(sides) + 1:
        return False
    steps = _climb_steps(sides, path[1:])
    before = root_from_path(path[0], [step for step in steps if step.is_left], node_hash)
    return before == old_root and root_from_path(path[0], steps, node_hash) == new_root


def _are_hashes(*hashes: bytes) -> bool:
    return all(len(hash) == HASH_BYTES for hash in hashes)


def _sibling_sides(index: int, last: int) -> list[bool]:
    """Return for each sibling on the path to the root whether it is the left one.

    The last node of a level without a sibling moves up unchanged.
    """
    sides = []
    while last:
        if index & 1 or index < last:
            sides.append(bool(index & 1))
        index >>= 1
        last >>= 1
    return sides


def _climb_steps(sides: Sequence[bool], path: Sequence[bytes]) -> list[AuditStep]:
    return [AuditStep(left, sibling) for left, sibling in zip(sides, path, strict=True)]


class Subtree(NamedTuple):
    """The complete subtree over the leaves [offset << level, (offset + 1) << level)."""

    level: int
    offset: int

    @property
    def last_leaf(self) -> int:
        """Its last leaf, in whose row its hash is stored."""
        return ((self.offset + 1) << self.level) - 1


LeafRange = tuple[int, int]
"""The leaves from the first number to before the second."""


def cover_range(start: int, end: int) -> list[Subtree]:
    """Return the complete subtrees that make up a range, from the left."""
    subtrees = []
    while start < end:
        level = (end - start).bit_length() - 1
        subtrees.append(Subtree(level, start >> level))
        start += 1 << level
    return subtrees


def fold_hashes(hashes: Sequence[bytes]) -> bytes:
    """Return the hash of a range from those of its cover; `EMPTY_ROOT` from none."""
    if not hashes:
        return EMPTY_ROOT
    node = hashes[-1]
    for left in reversed(hashes[:-1]):
        node = node_hash(left + node)
    return node


def _split_point(start: int, end: int) -> int:
    """Return where the children of a range meet: the largest power of two below its width."""
    return start + (1 << (end - start - 1).bit_length() - 1)


def inclusion_ranges(index: int, size: int) -> list[LeafRange]:
    """Return the ranges whose hashes are PATH(index, size), RFC 6962, section 2.1.1."""
    ranges = []
    start, end = 0, size
    while end - start > 1:
        middle = _split_point(start, end)
        if index < middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((start, middle))
            start = middle
    return ranges[::-1]


def consistency_ranges(old: int, new: int) -> list[LeafRange]:
    """Return the ranges whose hashes are PROOF(old, new), RFC 6962, section 2.1.2.

    Empty if `old` is 0 or both sizes are equal.
    """
    if old in (0, new):
        return []
    ranges = []
    start, end = 0, new
    while old < end:
        middle = _split_point(start, end)
        if old <= middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((start, middle))
            start = middle
    if start:  # else the path starts at the old root, which the verifier has
        ranges.append((start, end))
    return ranges[::-1]


class CompactRange:
    """The right edge of a growing tree: the hashes of the cover of all its leaves."""

    def __init__(self, size: int, hashes: Sequence[bytes]) -> None:
        self.size = size
        self._hashes = list(hashes)

    def append_leaves(self, leaves: Iterable[bytes]) -> list[bytes]:
        """Append leaf hashes; return for each the hashes of the subtrees that end with it.

        The hashes of one leaf are one byte string: the leaf hash, then level 1, and so on.
        """
        hashes_by_leaf = []
        stack, size = self._hashes, self.size
        for leaf in leaves:
            hashes = node = leaf
            index = size
            while index & 1:
                node = node_hash(stack.pop() + node)
                hashes += node
                index >>= 1
            stack.append(node)
            hashes_by_leaf.append(hashes)
            size += 1
        self.size = size
        return hashes_by_leaf

    def root_hash(self) -> bytes:
        """Return the root of the tree."""
        return fold_hashes(self._hashes)
