"""Find rows that nothing else reads, and copies that differ."""

from __future__ import annotations

from collections.abc import Iterator

from ..digest import DIGEST_SIZE
from ..errors import printable_text
from . import checksums, field_limits, operation_log, ref_table
from .blobs.codec import CODEC_RAW, CODEC_ZSTD
from .connection import Connection
from .schema import typed_columns

_DICTIONARY_COLUMNS = typed_columns("number INTEGER, data BLOB, checksum BLOB")


def find_stray_rows(db: Connection, facts: dict[str, bytes]) -> Iterator[str]:
    """Yield the faults."""
    head = operation_log.decode_log_head(facts.get(ref_table.OPERATIONS_FACT))
    if count := operation_log.count_stray_operations(db, head):
        yield f"{count} rows of the operation log are beyond its end or before its beginning"
    prefixes = (ref_table.REF_PREFIX, ref_table.META_PREFIX)
    for name in facts:
        if name not in ref_table.INTERNAL_FACTS and not name.startswith(prefixes):
            yield f"there is no fact called {printable_text(name, 80)}"
    for table in ("objects", "blobs"):
        ((count,),) = db.fetch_all(
            f"SELECT count(*) FROM {table} WHERE length(id) != {DIGEST_SIZE}"
        )
        if count:
            yield f"{count} ids in the table {table} are not of {DIGEST_SIZE} bytes"
    yield from _check_dictionaries(db)
    # Redacted content is refused only if a fact counts redactions.
    ((count,),) = db.fetch_all("SELECT count(*) FROM redactions")
    if count > int.from_bytes(facts.get(ref_table.REDACTIONS_FACT, b""), "big"):
        yield f"{count} blobs were redacted, but the facts count fewer"


def _check_dictionaries(db: Connection) -> Iterator[str]:
    """Check that each dictionary is stored twice, or was emptied by a redaction and is unused."""
    rows = db.fetch_all(f"SELECT {_DICTIONARY_COLUMNS} FROM dictionaries ORDER BY number")
    known = {number: (data, checksum) for number, data, checksum in rows if data or checksum}
    for number, (data, checksum) in known.items():
        if checksums.row_checksum(b"%d" % abs(number), data) != checksum:
            yield f"a copy of dictionary {abs(number)} does not fit its checksum"
        elif len(data) > field_limits.MAX_DICTIONARY_BYTES:
            yield f"dictionary {abs(number)} has {len(data)} bytes"
        elif known.get(-number) != (data, checksum):
            yield f"dictionary {abs(number)} is not stored twice"
    for (codec,) in db.fetch_all(f"SELECT DISTINCT {typed_columns('codec INTEGER')} FROM blobs"):
        if codec < CODEC_RAW:
            yield f"the codec {codec} of some blobs is unknown"
            continue
        number = codec - CODEC_ZSTD
        if number > 0 and number not in known and -number not in known:
            yield f"dictionary {number}, which some blobs need, is missing"
