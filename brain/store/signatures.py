"""Signatures, kept beside the snapshots they are for; one for each key.

A signature proves itself, but only to whoever knows its key. The checksum tells
a fault of the disk from a signature that was never right.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import StoreError
from . import bounds, sums
from .connection import Connected, Connection
from .schema import columns

_ROW = columns("snapshot BLOB, key BLOB, signature BLOB, checksum BLOB")


class SignatureReader(Connected):
    """The part of `Reader` that deals with signatures."""

    def signatures(self, snapshot: bytes) -> list[tuple[bytes, bytes]]:
        """See `Reader.signatures`."""
        sql = f"SELECT {_ROW} FROM signatures WHERE snapshot = ? ORDER BY key"
        return [_proven(*row)[1:] for row in self._db.all(sql, (snapshot,))]

    def all_signatures(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        """See `Reader.all_signatures`."""
        for row in self._db.stream(f"SELECT {_ROW} FROM signatures ORDER BY snapshot, key"):
            yield _proven(*row)


def put(db: Connection, snapshot: bytes, key: bytes, signature: bytes) -> None:
    """Keep a signature in place of any other of that key."""
    db.run(
        "INSERT INTO signatures (snapshot, key, signature, checksum) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (snapshot, key) DO UPDATE SET signature = excluded.signature,"
        " checksum = excluded.checksum",
        (snapshot, key, signature, sums.of_fields(snapshot, key, signature)),
    )


def _proven(
    snapshot: bytes, key: bytes, signature: bytes, expected: bytes
) -> tuple[bytes, bytes, bytes]:
    wrong = bounds.of_signature(snapshot, key, signature)
    if wrong or sums.of_fields(snapshot, key, signature) != expected:
        raise StoreError(
            f"a signature in the store is damaged: {wrong or 'it does not fit its checksum'}",
            code="corrupt_signature",
            hint="restore the folder .brain from a copy, or sign again",
        )
    return snapshot, key, signature
