"""Find rows that nothing reads, and copies that differ."""

from __future__ import annotations

from collections.abc import Iterator

from ..digest import DIGEST_SIZE
from ..errors import printable_text
from . import checksums, field_limits, operation_log, ref_table
from .blobs.codec import CODEC_RAW, CODEC_ZSTD
from .connection import Connection
from .schema import typed_columns

_DICTIONARY_COLUMNS = typed_columns("number INTEGER, data BLOB, checksum BLOB")


def find_stray_rows(db: Connection, fact_rows: dict[str, bytes]) -> Iterator[str]:
    """Yield what is wrong; `found` are the facts."""
    if count := operation_log.count_stray_operations(
        db, operation_log.decode_log_head(fact_rows.get(ref_table.OPERATIONS_FACT))
    ):
        yield f"{count} rows of the operation log are beyond its end or before its beginning"
    for name in fact_rows:
        if name not in ref_table.INTERNAL_FACTS and not name.startswith(
            (ref_table.REF_PREFIX, ref_table.META_PREFIX)
        ):
            yield f"there is no fact called {printable_text(name, 80)}"
    for table in ("objects", "blobs"):
        ((count,),) = db.fetch_all(
            f"SELECT count(*) FROM {table} WHERE length(id) != {DIGEST_SIZE}"
        )
        if count:
            yield f"{count} ids in the table {table} are not of {DIGEST_SIZE} bytes"
    yield from _check_dictionaries(db)
    yield from _check_redaction_count(db, fact_rows.get(ref_table.REDACTIONS_FACT, b""))


def _check_redaction_count(db: Connection, recorded_count: bytes) -> Iterator[str]:
    """What was redacted is refused only if a fact says that something was."""
    ((count,),) = db.fetch_all("SELECT count(*) FROM redactions")
    if count > int.from_bytes(recorded_count, "big"):
        yield f"{count} blobs were redacted, of which the facts do not say"


def _check_dictionaries(db: Connection) -> Iterator[str]:
    """Each dictionary is there twice, or was emptied by a redaction and is not used any more."""
    rows = db.fetch_all(f"SELECT {_DICTIONARY_COLUMNS} FROM dictionaries ORDER BY number")
    known = {number: (data, checksum) for number, data, checksum in rows if data or checksum}
    for number, (data, checksum) in known.items():
        if checksums.row_checksum(b"%d" % abs(number), data) != checksum:
            yield f"a copy of dictionary {abs(number)} does not fit its checksum"
        elif len(data) > field_limits.MAX_DICTIONARY_BYTES:
            yield f"dictionary {abs(number)} has {len(data)} bytes"
        elif known.get(-number) != (data, checksum):
            yield f"dictionary {abs(number)} is not there twice"
    for (codec,) in db.fetch_all(f"SELECT DISTINCT {typed_columns('codec INTEGER')} FROM blobs"):
        if codec < CODEC_RAW:
            yield f"blobs are packed in a way {codec}, which is not known"
        elif (
            codec > CODEC_ZSTD
            and codec - CODEC_ZSTD not in known
            and CODEC_ZSTD - codec not in known
        ):
            yield f"dictionary {codec - CODEC_ZSTD}, which blobs are packed with, is missing"
