"""Hashes of the log: SHA-256 in the domains of RFC 6962, section 2.1."""

from __future__ import annotations

from hashlib import sha256

SIZE = 32
"""Bytes in a hash."""
EMPTY_ROOT = sha256(b"").digest()
"""The root of the tree without leaves."""


def leaf_hash(data: bytes) -> bytes:
    """Return the hash of a leaf."""
    return sha256(b"\0" + data).digest()


def join(pair: bytes) -> bytes:
    """Return the hash of two children, given as left ‖ right."""
    return sha256(b"\1" + pair).digest()
