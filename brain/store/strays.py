"""Rows that no reader asks for, or that are kept twice: what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator

from ..digest import SIZE
from . import bounds, oplog, sums
from .codec import RAW, ZSTD
from .connection import Connection
from .schema import columns

_DICTIONARY = columns("number INTEGER, data BLOB, checksum BLOB")


def find(db: Connection, head: tuple[int, bytes]) -> Iterator[str]:
    """Yield what is wrong; `head` is that of the operation log."""
    if count := oplog.strays(db, head):
        yield f"{count} rows of the operation log are beyond its end or before its beginning"
    for table in ("objects", "blobs"):
        ((count,),) = db.all(f"SELECT count(*) FROM {table} WHERE length(id) != {SIZE}")
        if count:
            yield f"{count} ids in the table {table} are not of {SIZE} bytes"
    yield from _dictionaries(db)


def _dictionaries(db: Connection) -> Iterator[str]:
    """Each dictionary is there twice, and so is each that blobs are packed with."""
    rows = db.all(f"SELECT {_DICTIONARY} FROM dictionaries ORDER BY number")
    known = {number: (data, checksum) for number, data, checksum in rows}
    for number, (data, checksum) in known.items():
        if sums.of_fields(b"%d" % abs(number), data) != checksum:
            yield f"a copy of dictionary {abs(number)} does not fit its checksum"
        elif len(data) > bounds.MAX_DICTIONARY_BYTES:
            yield f"dictionary {abs(number)} has {len(data)} bytes"
        elif known.get(-number) != (data, checksum):
            yield f"dictionary {abs(number)} is not there twice"
    for (codec,) in db.all("SELECT DISTINCT codec FROM blobs WHERE codec > ?", (ZSTD,)):
        if codec - ZSTD not in known and ZSTD - codec not in known:
            yield f"dictionary {codec - ZSTD}, which blobs are packed with, is missing"
    ((count,),) = db.all("SELECT count(*) FROM blobs WHERE codec < ?", (RAW,))
    if count:
        yield f"{count} blobs are packed in no way that is known"
