"""Digests of format 1: BLAKE3, 32 bytes, lower-case hex in text.

A blob's id is the plain BLAKE3 of its content. Structured objects are hashed in `derive_key`
mode, each kind with its own context string, so that two kinds of objects cannot share an id
(BLAKE3 paper, section 2.3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from blake3 import blake3

from .errors import InvalidInput, printable_text

if TYPE_CHECKING:
    from io import RawIOBase

DIGEST_SIZE = 32
"""Bytes in a digest."""

_HEX_DIGITS = frozenset("0123456789abcdef")
_READ_WINDOW_BYTES = 4 << 20

NO_DIGEST = b""
"""Represents a missing digest in objects, which have no nil."""


def blob_id(content: bytes | bytearray | memoryview) -> bytes:
    """Return the id of a blob, which `b3sum` prints for a file of that content."""
    return blake3(content).digest()


def stream_blob_id(source: RawIOBase) -> bytes:
    """Return the id of the rest of `source` as a blob, in constant memory."""
    hasher = blake3(max_threads=blake3.AUTO)
    window = memoryview(bytearray(_READ_WINDOW_BYTES))
    while read := source.readinto(window):
        hasher.update(window[:read])
    return hasher.digest()


def domain_hash(context: str) -> Callable[[bytes], bytes]:
    """Return the hash function of one kind of object (BLAKE3 `derive_key` mode).

    A context costs a hash of its own, so it is set up once and copied.
    """
    new_hasher = blake3(derive_key_context=context).copy

    def digest(data: bytes) -> bytes:
        return new_hasher().update(data).digest()

    return digest


def is_hex(text: str) -> bool:
    """Tell whether a text consists of lower-case hex digits, at least one."""
    return text != "" and set(text) <= _HEX_DIGITS


def is_hex_digest(text: str) -> bool:
    """Tell whether a text is 64 lower-case hex digits."""
    return len(text) == 2 * DIGEST_SIZE and is_hex(text)


def parse_digest(text: str) -> bytes:
    """Return the digest of 64 lower-case hex digits.

    Raises `InvalidInput` (`bad_id`) for any other text.
    """
    if is_hex_digest(text):
        return bytes.fromhex(text)
    raise InvalidInput(
        f"not a digest: '{printable_text(text, 80)}'",
        code="bad_id",
        hint="a digest is 64 lower-case hex digits",
    )
