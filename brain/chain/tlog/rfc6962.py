"""RFC 6962 hashes, and verification of inclusion and consistency proofs.

Sizes and paths are untrusted: the sizes alone determine the length of a path and the side of
each of its hashes, and any other path is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

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
