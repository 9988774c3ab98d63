"""Checksums of rows.

An id proves content. Other fields of a row have no id, so the row has a checksum over all its
fields, each framed by its length.
"""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

from blake3 import blake3

CHECKSUM_BYTES = 8


def row_checksum(*fields: bytes) -> bytes:
    """Return the checksum of a row of byte strings."""
    framed = b"".join([b"%d:%b" % (len(field), field) for field in fields])
    return blake3(framed).digest(length=CHECKSUM_BYTES)


def cache_row_checksum(id: bytes, data: bytes) -> bytes:
    """Return the checksum of a derived row: CRC-32, since thousands are read at once."""
    return crc32(data, crc32(id)).to_bytes(4, "big")


def rows_crc(rows: Iterable[bytes], sum: int = 0) -> int:
    """Return the CRC-32 over rows in order, each framed by its length, continued from `sum`."""
    for row in rows:
        sum = crc32(row, crc32(b"%d:" % len(row), sum))
    return sum
