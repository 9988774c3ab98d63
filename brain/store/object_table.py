"""The table `objects`: reads of tree nodes, bundles and snapshots.

They are stored uncompressed: they are mostly digests and would hardly shrink, and commands that
read only structure start faster without Zstandard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from ..digest import DIGEST_SIZE, is_hex
from ..errors import FormatError, StoreError, corrupt_object_error
from . import checksums
from .blobs.blob_reader import missing_object_error
from .connection import ConnectionHolder
from .protocol import ObjectKind, ObjectRange, StoredObject
from .schema import typed_columns

MAX_SINGLE_LOOKUPS = 1024
"""Up to this many ids are looked up one by one, whatever the size of the store."""

_OBJECT_COLUMNS = typed_columns("id BLOB, kind INTEGER, data BLOB, checksum BLOB")


def object_checksum(id: bytes, kind: int, data: bytes) -> bytes:
    """Return the checksum of a row of `objects`."""
    return checksums.row_checksum(id, b"%d" % kind, data)


class ObjectReader(ConnectionHolder):
    """The methods of `StoreReader` for structured objects and for ids."""

    def read_object(self, kind: int, id: bytes) -> bytes:
        row = self._db.fetch_one(f"SELECT {_OBJECT_COLUMNS} FROM objects WHERE id = ?", (id,))
        if row is None:
            if kind != ObjectKind.BLOB and self.has_object(id):
                raise _wrong_kind_error(id)
            raise missing_object_error(id)
        data = self._check_object_row(id, *row[1:])
        if row[1] != kind:
            raise _wrong_kind_error(id)
        return data

    def has_object(self, id: bytes) -> bool:
        sql = "SELECT 1 FROM objects WHERE id = ?1 UNION ALL SELECT 1 FROM blobs WHERE id = ?1"
        return self._db.fetch_one(sql, (id,)) is not None

    def find_missing(self, ids: Iterable[bytes]) -> set[bytes]:
        remaining = set(ids)
        for table in ("blobs", "objects"):
            if self._db.should_scan(table, len(remaining), MAX_SINGLE_LOOKUPS):
                rows = self._db.stream_rows(f"SELECT id FROM {table}")
                remaining.difference_update(chain.from_iterable(rows))
            else:
                sql = f"SELECT id FROM {table} WHERE id IN ({{keys}})"
                remaining.difference_update(
                    id for (id,) in list(self._db.fetch_by_keys(sql, list(remaining)))
                )
        return remaining

    def count_objects(self) -> int:
        sql = "SELECT (SELECT count(*) FROM objects) + (SELECT count(*) FROM blobs)"
        ((total,),) = self._db.fetch_all(sql)
        return int(total)

    def find_snapshots(self, prefix: str) -> list[tuple[int, bytes]]:
        digits = 2 * DIGEST_SIZE
        if len(prefix) > digits or not is_hex(prefix):
            return []
        rows = self._db.fetch_all(
            "SELECT id FROM objects WHERE id BETWEEN ? AND ? AND kind = ? LIMIT 2",
            (
                bytes.fromhex(prefix.ljust(digits, "0")),
                bytes.fromhex(prefix.ljust(digits, "f")),
                ObjectKind.SNAPSHOT,
            ),
        )
        return [(ObjectKind.SNAPSHOT, id) for (id,) in rows]

    def stream_object_ids(self) -> Iterator[tuple[int, bytes]]:
        for kind, id in self._db.stream_rows(
            f"SELECT {typed_columns('kind INTEGER, id BLOB')} FROM objects"
        ):
            yield kind, id
        for (id,) in self._db.stream_rows(f"SELECT {typed_columns('id BLOB')} FROM blobs"):
            yield ObjectKind.BLOB, id

    def stream_objects(self, kind: int) -> Iterator[tuple[bytes, bytes]]:
        sql = f"SELECT {_OBJECT_COLUMNS} FROM objects WHERE kind = ? ORDER BY number"
        for id, stored_kind, data, expected in self._db.stream_rows(sql, (kind,)):
            yield id, self._check_object_row(id, stored_kind, data, expected)

    def split_objects(self, size: int, max_ranges: int) -> list[ObjectRange]:
        return self._db.split_rows("objects", size, max_ranges)

    def read_object_range(self, object_range: ObjectRange) -> Iterator[StoredObject]:
        sql = f"SELECT {_OBJECT_COLUMNS} FROM objects WHERE number BETWEEN ? AND ? ORDER BY number"
        for id, kind, data, expected in self._db.stream_rows(sql, object_range):
            is_intact = object_checksum(id, kind, data) == expected
            yield kind, id, data if is_intact else _checksum_error(id)

    def _check_object_row(self, id: bytes, kind: int, data: bytes, expected: bytes) -> bytes:
        if object_checksum(id, kind, data) != expected:
            raise _checksum_error(id)
        return data


def _checksum_error(id: bytes) -> StoreError:
    return corrupt_object_error(id, "it does not fit its checksum")


def _wrong_kind_error(id: bytes) -> FormatError:
    return FormatError(
        f"object {id.hex()} is not of the kind that is expected here",
        code="wrong_type",
        hint="run `brain verify`, and restore the folder .brain from a copy",
    )
