"""Checking inclusion and consistency, RFC 9162, sections 2.1.3.2 and 2.1.4.2.

Sizes and paths may come from anywhere: the sizes alone say how long a path is and on
which side each of its hashes stands, and nothing else is taken.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...merkle import Step, climb
from .hashing import SIZE, join


def includes(root: bytes, size: int, index: int, leaf: bytes, path: Sequence[bytes]) -> bool:
    """Tell whether the tree of that root and size has the leaf hash at `index`."""
    if not 0 <= index < size or not _are_hashes(root, leaf, *path):
        return False
    sides = _sides(index, size - 1)
    return len(sides) == len(path) and climb(leaf, _steps(sides, path), join) == root


def extends(
    old_size: int, old_root: bytes, new_size: int, new_root: bytes, path: Sequence[bytes]
) -> bool:
    """Tell whether the new tree is the old one with leaves appended, or none.

    Of the empty tree nothing is proven, as the RFC has it: every tree extends it.
    """
    if not 0 < old_size <= new_size or not _are_hashes(old_root, new_root, *path):
        return False
    if old_size == new_size:
        return not path and old_root == new_root
    level = (old_size & -old_size).bit_length() - 1
    sides = _sides((old_size - 1) >> level, (new_size - 1) >> level)
    if old_size == 1 << level:  # the old tree is a subtree of the new one
        path = [old_root, *path]
    if len(path) != len(sides) + 1:
        return False
    steps = _steps(sides, path[1:])
    before = climb(path[0], [step for step in steps if step.left], join)
    return before == old_root and climb(path[0], steps, join) == new_root


def _are_hashes(*hashes: bytes) -> bool:
    return all(len(hash) == SIZE for hash in hashes)


def _sides(place: int, last: int) -> list[bool]:
    """Return for each sibling on the way up whether it stands on the left.

    A node at the end of its row, without a sibling, is carried up as it is.
    """
    sides = []
    while last:
        if place & 1 or place < last:
            sides.append(bool(place & 1))
        place >>= 1
        last >>= 1
    return sides


def _steps(sides: Sequence[bool], path: Sequence[bytes]) -> list[Step]:
    return [Step(left, sibling) for left, sibling in zip(sides, path, strict=True)]
