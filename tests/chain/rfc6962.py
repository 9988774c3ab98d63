"""RFC 6962, section 2.1, written down as it is defined: slow, and sharing no code with us."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256


def leaf_hash(entry: bytes) -> bytes:
    return sha256(b"\0" + entry).digest()


def join(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


def split(size: int) -> int:
    """Return the largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1


def root(leaves: Sequence[bytes]) -> bytes:
    """Return MTH of at least one leaf hash."""
    if len(leaves) == 1:
        return leaves[0]
    k = split(len(leaves))
    return join(root(leaves[:k]), root(leaves[k:]))


def path(index: int, leaves: Sequence[bytes]) -> list[bytes]:
    """Return PATH(index, leaves)."""
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    if index < k:
        return [*path(index, leaves[:k]), root(leaves[k:])]
    return [*path(index - k, leaves[k:]), root(leaves[:k])]


def root_by(index: int, size: int, leaf: bytes, proof: Sequence[bytes]) -> bytes | None:
    """Return the root that a proof leads to, None if it is not as long as it should be."""
    if not 0 <= index < size:
        return None
    if size == 1:
        return leaf if not proof else None
    if not proof:
        return None
    k = split(size)
    if index < k:
        left = root_by(index, k, leaf, proof[:-1])
        return left and join(left, proof[-1])
    right = root_by(index - k, size - k, leaf, proof[:-1])
    return right and join(proof[-1], right)
