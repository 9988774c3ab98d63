"""Reading structured objects: nodes, bundles, snapshots.

They are stored as they are, uncompressed: mostly digests, they would hardly
shrink, and commands that read only structure start faster without Zstandard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from ..digest import SIZE
from ..errors import FormatError, StoreError
from . import sums
from .blobs import absent
from .codec import corrupt
from .connection import Connected
from .parts import Part, Stored, cut
from .protocol import Kind
from .schema import columns

FEW = 1024
"""Up to so many ids are looked up one by one, whatever the size of the store."""
SCAN_SHARE = 8
"""Reading all ids beats looking single ones up when at least one in this many is wanted."""

_ROW = columns("id BLOB, kind INTEGER, data BLOB, checksum BLOB")


def checksum(id: bytes, kind: int, data: bytes) -> bytes:
    """Return the checksum of a row of `objects`."""
    return sums.of_fields(id, b"%d" % kind, data)


class ObjectReader(Connected):
    """The part of `Reader` that deals with objects as such."""

    def get(self, kind: int, id: bytes) -> bytes:
        """See `Reader.get`."""
        row = self._db.one(f"SELECT {_ROW} FROM objects WHERE id = ?", (id,))
        if row is None:
            if kind != Kind.BLOB and self.has(id):
                raise _wrong_type(id)
            raise absent(id)
        data = self._proven(id, *row[1:])
        if row[1] != kind:
            raise _wrong_type(id)
        return data

    def has(self, id: bytes) -> bool:
        """See `Reader.has`."""
        sql = "SELECT 1 FROM objects WHERE id = ?1 UNION ALL SELECT 1 FROM blobs WHERE id = ?1"
        return self._db.one(sql, (id,)) is not None

    def missing(self, ids: Iterable[bytes]) -> set[bytes]:
        """See `Reader.missing`."""
        left = set(ids)
        for table in ("blobs", "objects"):
            if self._are_most(len(left), table):
                rows = self._db.stream(f"SELECT id FROM {table}")
                left.difference_update(chain.from_iterable(rows))
            else:
                sql = f"SELECT id FROM {table} WHERE id IN ({{keys}})"
                left.difference_update(id for (id,) in list(self._db.among(sql, list(left))))
        return left

    def _are_most(self, wanted: int, table: str) -> bool:
        """Tell whether reading all ids of a table beats looking up so many of them."""
        if wanted < FEW:  # counting would cost more than looking them up
            return False
        ((total,),) = self._db.all(f"SELECT count(*) FROM {table}")
        return wanted * SCAN_SHARE >= int(total)

    def count_objects(self) -> int:
        """See `Reader.count_objects`."""
        sql = "SELECT (SELECT count(*) FROM objects) + (SELECT count(*) FROM blobs)"
        ((total,),) = self._db.all(sql)
        return int(total)

    def find(self, prefix: str) -> list[tuple[int, bytes]]:
        """See `Reader.find`."""
        digits = 2 * SIZE
        if not prefix or len(prefix) > digits or set(prefix) - set("0123456789abcdef"):
            return []
        rows = self._db.all(
            "SELECT id FROM objects WHERE id BETWEEN ? AND ? AND kind = ? LIMIT 2",
            (
                bytes.fromhex(prefix.ljust(digits, "0")),
                bytes.fromhex(prefix.ljust(digits, "f")),
                Kind.SNAPSHOT,
            ),
        )
        return [(Kind.SNAPSHOT, id) for (id,) in rows]

    def objects(self) -> Iterator[tuple[int, bytes]]:
        """See `Reader.objects`."""
        for kind, id in self._db.stream(f"SELECT {columns('kind INTEGER, id BLOB')} FROM objects"):
            yield kind, id
        for (id,) in self._db.stream(f"SELECT {columns('id BLOB')} FROM blobs"):
            yield Kind.BLOB, id

    def structured(self, kind: int) -> Iterator[tuple[bytes, bytes]]:
        """See `Reader.structured`."""
        sql = f"SELECT {_ROW} FROM objects WHERE kind = ? ORDER BY number"
        for id, found, data, expected in self._db.stream(sql, (kind,)):
            yield id, self._proven(id, found, data, expected)

    def parts(self, size: int, most: int) -> list[Part]:
        """See `Reader.parts`."""
        sql = "SELECT ifnull(min(number), 1), ifnull(max(number), 0) FROM objects"
        ((first, last),) = self._db.all(sql)
        return cut(first, last, size, most)

    def part(self, part: Part) -> Iterator[Stored]:
        """See `Reader.part`."""
        sql = f"SELECT {_ROW} FROM objects WHERE number BETWEEN ? AND ? ORDER BY number"
        for id, kind, data, expected in self._db.stream(sql, part):
            yield kind, id, data if checksum(id, kind, data) == expected else _unfit(id)

    def _proven(self, id: bytes, kind: int, data: bytes, expected: bytes) -> bytes:
        if checksum(id, kind, data) != expected:
            raise _unfit(id)
        return data


def _unfit(id: bytes) -> StoreError:
    return corrupt(id, "it does not fit its checksum")


def _wrong_type(id: bytes) -> FormatError:
    return FormatError(f"object {id.hex()} is of another kind", code="wrong_type")
