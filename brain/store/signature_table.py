"""The table `signatures`: one signature for each snapshot and key.

The checksum distinguishes a damaged signature from an invalid one without the key.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import StoreError
from . import checksums, field_limits
from .connection import Connection, ConnectionHolder
from .schema import typed_columns

_SIGNATURE_COLUMNS = typed_columns("snapshot BLOB, key BLOB, signature BLOB, checksum BLOB")


class SignatureReader(ConnectionHolder):
    """The methods of `StoreReader` for signatures."""

    def list_signatures(self, snapshot: bytes) -> list[tuple[bytes, bytes]]:
        sql = f"SELECT {_SIGNATURE_COLUMNS} FROM signatures WHERE snapshot = ? ORDER BY key"
        return [_check_row(*row)[1:] for row in self._db.fetch_all(sql, (snapshot,))]

    def stream_signatures(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        for row in self._db.stream_rows(
            f"SELECT {_SIGNATURE_COLUMNS} FROM signatures ORDER BY snapshot, key"
        ):
            yield _check_row(*row)


def put_signature_row(db: Connection, snapshot: bytes, key: bytes, signature: bytes) -> None:
    """Store a signature, replacing any other of that key."""
    db.execute(
        "INSERT INTO signatures (snapshot, key, signature, checksum) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (snapshot, key) DO UPDATE SET signature = excluded.signature,"
        " checksum = excluded.checksum",
        (snapshot, key, signature, checksums.row_checksum(snapshot, key, signature)),
    )


def _check_row(
    snapshot: bytes, key: bytes, signature: bytes, expected: bytes
) -> tuple[bytes, bytes, bytes]:
    fault = field_limits.find_signature_error(snapshot, key, signature)
    if fault or checksums.row_checksum(snapshot, key, signature) != expected:
        raise StoreError(
            f"a signature in the store is damaged: {fault or 'it does not fit its checksum'}",
            code="corrupt_signature",
            hint="restore the folder .brain from a copy, or sign again",
        )
    return snapshot, key, signature
