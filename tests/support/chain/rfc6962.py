"""RFC 6962, section 2.1, written as it is defined: slow, and sharing no code with the project."""

from collections.abc import Sequence
from hashlib import sha256


def leaf_hash(entry: bytes) -> bytes:
    return sha256(b"\0" + entry).digest()


def node_hash(remaining: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + remaining + right).digest()


def largest_power_of_two_below(size: int) -> int:
    """Return the largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1


def merkle_root(leaves: Sequence[bytes]) -> bytes:
    """Return MTH of at least one leaf hash."""
    if len(leaves) == 1:
        return leaves[0]
    k = largest_power_of_two_below(len(leaves))
    return node_hash(merkle_root(leaves[:k]), merkle_root(leaves[k:]))


def inclusion_path(index: int, leaves: Sequence[bytes]) -> list[bytes]:
    """Return PATH(index, leaves)."""
    if len(leaves) == 1:
        return []
    k = largest_power_of_two_below(len(leaves))
    if index < k:
        return [*inclusion_path(index, leaves[:k]), merkle_root(leaves[k:])]
    return [*inclusion_path(index - k, leaves[k:]), merkle_root(leaves[:k])]


def root_from_path(index: int, size: int, leaf: bytes, proof: Sequence[bytes]) -> bytes | None:
    """Return the root that a proof leads to, None if it is not as long as it should be."""
    if not 0 <= index < size:
        return None
    if size == 1:
        return leaf if not proof else None
    if not proof:
        return None
    k = largest_power_of_two_below(size)
    if index < k:
        remaining = root_from_path(index, k, leaf, proof[:-1])
        return remaining and node_hash(remaining, proof[-1])
    right = root_from_path(index - k, size - k, leaf, proof[:-1])
    return right and node_hash(proof[-1], right)
