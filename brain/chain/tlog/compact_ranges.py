"""Compact ranges: the subtree hashes that make up a proof or a root of an RFC 6962 tree.

Complete subtrees cover a range of leaves [start, end). Each has a level, 0 for leaves, and an
offset in that level. A complete subtree never changes, so its hash is stored; the hash of any
range at any size of the tree is joined from few of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .rfc6962 import EMPTY_ROOT, node_hash


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
