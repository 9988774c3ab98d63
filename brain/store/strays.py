"""Rows that no reader asks for, or that are kept twice: what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator

from ..digest import SIZE
from ..errors import printable
from . import bounds, facts, oplog, sums
from .codec import RAW, ZSTD
from .connection import Connection
from .schema import columns

_DICTIONARY = columns("number INTEGER, data BLOB, checksum BLOB")


def find(db: Connection, found: dict[str, bytes]) -> Iterator[str]:
    """Yield what is wrong; `found` are the facts."""
    if count := oplog.strays(db, oplog.parse_head(found.get(facts.OPERATIONS))):
        yield f"{count} rows of the operation log are beyond its end or before its beginning"
    for name in found:
        if name not in facts.KNOWN and not name.startswith((facts.REF, facts.META)):
            yield f"there is no fact called {printable(name, 80)}"
    for table in ("objects", "blobs"):
        ((count,),) = db.all(f"SELECT count(*) FROM {table} WHERE length(id) != {SIZE}")
        if count:
            yield f"{count} ids in the table {table} are not of {SIZE} bytes"
    yield from _dictionaries(db)
    yield from _redactions(db, found.get(facts.REDACTIONS, b""))


def _redactions(db: Connection, noted: bytes) -> Iterator[str]:
    """What was redacted is refused only if a fact says that something was."""
    ((count,),) = db.all("SELECT count(*) FROM redactions")
    if count > int.from_bytes(noted, "big"):
        yield f"{count} blobs were redacted, of which the facts do not say"


def _dictionaries(db: Connection) -> Iterator[str]:
    """Each dictionary is there twice, or was emptied by a redaction and is not used any more."""
    rows = db.all(f"SELECT {_DICTIONARY} FROM dictionaries ORDER BY number")
    known = {number: (data, checksum) for number, data, checksum in rows if data or checksum}
    for number, (data, checksum) in known.items():
        if sums.of_fields(b"%d" % abs(number), data) != checksum:
            yield f"a copy of dictionary {abs(number)} does not fit its checksum"
        elif len(data) > bounds.MAX_DICTIONARY_BYTES:
            yield f"dictionary {abs(number)} has {len(data)} bytes"
        elif known.get(-number) != (data, checksum):
            yield f"dictionary {abs(number)} is not there twice"
    for (codec,) in db.all(f"SELECT DISTINCT {columns('codec INTEGER')} FROM blobs"):
        if codec < RAW:
            yield f"blobs are packed in a way {codec}, which is not known"
        elif codec > ZSTD and codec - ZSTD not in known and ZSTD - codec not in known:
            yield f"dictionary {codec - ZSTD}, which blobs are packed with, is missing"
