"""Verify every blob, and find rows that nothing else reads.

The rows of blobs are cut into ranges, which this process and forked children share; each process
has its own connection. New rows are added behind the last range, so all processes see the same
ranges; if rows are removed meanwhile, the epoch of the store changes and the caller begins again.
Results come in the order of the rows.

Large blobs are checked in the order in which they were stored, so the hash of one that grew
continues where the one before it ended. A thousand versions of a growing file then cost little
more than the last one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

from blake3 import blake3

from ..digest import DIGEST_SIZE
from ..errors import BrainError, StoreError, corrupt_object_error, printable_text
from ..util.process_pool import processor_count, share_jobs
from . import rows
from .blobs import (
    BLOB_COLUMNS,
    CODEC_CHUNK_LIST,
    CODEC_RAW,
    CODEC_ZSTD,
    DICTIONARY_COLUMNS,
    MAX_DICTIONARY_BYTES,
    SMALL_CHUNK_BYTES,
    BlobDecoder,
    check_content,
)
from .connection import Connection
from .database import typed_columns
from .reader import StoreReader, decode_log_head, load_facts, read_chunk_list
from .rows import BlobCheckResult, BlobPredicate, ExpectedSize

MAX_ROW_RANGES = 256
"""Many ranges, so that no process waits long for the others at the end."""
MIN_ROWS_PER_RANGE = 64
"""Rows in a range, unless there are fewer."""
MIN_RANGES_TO_FORK = 8
"""Ranges that make a fork worth its cost."""

_RANGE_SQL = f"SELECT {BLOB_COLUMNS} FROM blobs WHERE number BETWEEN ? AND ? ORDER BY number"


_RangeResult = tuple[list[tuple[bytes, int]], list[tuple[bytes, str]], list[bytes], list[bytes]]
"""The fields of a `BlobCheckResult` for one range, and the ids of large blobs in it."""


@contextmanager
def check_blobs(
    reader: StoreReader,
    predicate: BlobPredicate,
    expected: ExpectedSize = lambda id, size: size,
    processes: int = 0,
) -> Iterator[Iterator[BlobCheckResult]]:
    """Read every blob again; yield an iterator of results, in storage order, large ones last.

    Child processes share the work and begin at once; `processes` are by default as many as there
    are processors. `predicate` gets small blobs only. A large blob that does not have the
    `expected` size is a fault, and is not read; `expected` is called while the block iterates.
    What a child that is killed had to do is done here.
    """
    db = reader._db
    ranges = db.split_rows("blobs", MIN_ROWS_PER_RANGE, MAX_ROW_RANGES)
    decoder = BlobDecoder(db)
    large: list[bytes] = []

    @contextmanager
    def child() -> Iterator[None]:
        nonlocal db, decoder
        with reader.reopen_for_fork() as reopened:
            db, decoder = reopened._db, BlobDecoder(reopened._db)
            yield

    def check_range(job: int) -> _RangeResult:
        sizes: list[tuple[bytes, int]] = []
        faults: list[tuple[bytes, str]] = []
        selected: list[bytes] = []
        chunk_lists: list[bytes] = []
        for id, codec, data in db.stream_rows(_RANGE_SQL, ranges[job]):
            if codec == CODEC_CHUNK_LIST:
                chunk_lists.append(id)
                continue
            try:
                content = check_content(id, decoder.decode(id, codec, data))
            except StoreError as error:
                faults.append((id, error.message))
                continue
            sizes.append((id, len(content)))
            if predicate(id, content):
                selected.append(id)
        return sizes, faults, selected, chunk_lists

    def small(answers: Iterator[_RangeResult]) -> Iterator[BlobCheckResult]:
        for sizes, faults, selected, chunk_lists in answers:
            large.extend(chunk_lists)
            yield BlobCheckResult(sizes, faults, selected)

    # Other processes do not see the changes of an open transaction.
    few = db.in_transaction or len(ranges) < MIN_RANGES_TO_FORK
    children = 0 if few else (processes or processor_count()) - 1
    with share_jobs(len(ranges), check_range, child, children) as answers:
        yield chain(small(answers), _check_large_blobs(reader, large, expected))


def check_chunk_lists(reader: StoreReader) -> BlobCheckResult:
    """Return the sizes that large blobs claim, and faults, without reading content."""
    sizes: list[tuple[bytes, int]] = []
    faults: list[tuple[bytes, str]] = []
    holders: dict[bytes, bytes] = {}
    sql = f"SELECT {BLOB_COLUMNS} FROM blobs WHERE codec = ? ORDER BY number"
    for id, _, data in reader._db.fetch_all(sql, (CODEC_CHUNK_LIST,)):
        try:
            chunk_list = read_chunk_list(id, data)
            pieces = reader.resolve_chunks(id, chunk_list)
        except BrainError as error:
            faults.append((id, error.message))
            continue
        sizes.append((id, chunk_list.size))
        holders.update((chunk, id) for chunk, _ in pieces)
    sql = "SELECT id FROM blobs WHERE id IN ({keys})"
    stored = {chunk for (chunk,) in reader._db.fetch_by_keys(sql, list(holders))}
    for chunk in sorted(holders.keys() - stored):
        damage = corrupt_object_error(holders[chunk], f"its chunk {chunk.hex()} is missing")
        faults.append((holders[chunk], damage.message))
    return BlobCheckResult(sizes, faults, [])


_HashState = tuple[list[tuple[bytes, int]], blake3]
"""Chunks with their sizes, and the hash over them."""


def _check_large_blobs(
    reader: StoreReader, ids: list[bytes], expected: ExpectedSize
) -> Iterator[BlobCheckResult]:
    """Read each blob, from where the last one with the same beginning ended, and compare its hash.

    One whose size differs from `expected` is a fault, and is not read.
    """
    states: dict[bytes, list[_HashState]] = {}  # by the first chunk
    for id in ids:
        try:
            pieces = reader.resolve_chunks(id, reader._fetch_chunk_list(id))
            size = sum(length for _, length in pieces)
            if (wanted := expected(id, size)) != size:
                why = f"its chunk list makes {size} bytes, not {wanted}"
                raise corrupt_object_error(id, why)
            known = states.get(pieces[0][0], [])
            fitting = (state for state in known if pieces[: len(state[0])] == state[0])
            hashed, digest = next(fitting, ([], blake3(max_threads=blake3.AUTO)))
            digest = digest.copy()
            # An append joins small chunks at the end, so the state before them is kept too.
            tail = len(pieces)
            while tail and pieces[tail - 1][1] < SMALL_CHUNK_BYTES:
                tail -= 1
            before_tail = hashed, digest.copy()
            for number, (chunk, length) in enumerate(pieces[len(hashed) :], len(hashed)):
                if number == tail:
                    before_tail = pieces[:tail], digest.copy()
                digest.update(reader._read_chunk(id, chunk, length))
            if digest.digest() != id:
                raise corrupt_object_error(id)
            states[pieces[0][0]] = [(pieces, digest), before_tail]
        except BrainError as error:
            yield BlobCheckResult([], [(id, error.message)], [])
        else:
            yield BlobCheckResult([(id, size)], [], [])


def check_stray_rows(reader: StoreReader) -> list[str]:
    """Return the faults of rows that nothing else reads, and of rows stored twice."""
    with reader._db.reading_one_state():
        return list(_find_stray_rows(reader._db, load_facts(reader._db)))


def _find_stray_rows(db: Connection, facts: dict[str, bytes]) -> Iterator[str]:
    last, _ = decode_log_head(facts.get(rows.OPERATIONS_FACT))
    ((count,),) = db.fetch_all(
        "SELECT count(*) FROM operations WHERE number < 1 OR number > ?", (last,)
    )
    if count:
        yield f"{count} rows of the operation log are beyond its end or before its beginning"
    prefixes = (rows.REF_PREFIX, rows.META_PREFIX)
    for name in facts:
        if name not in rows.INTERNAL_FACTS and not name.startswith(prefixes):
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
    if count > int.from_bytes(facts.get(rows.REDACTIONS_FACT, b""), "big"):
        yield f"{count} blobs were redacted, but the facts count fewer"


def _check_dictionaries(db: Connection) -> Iterator[str]:
    """Check that each dictionary is stored twice, or was emptied by a redaction and is unused."""
    stored = db.fetch_all(f"SELECT {DICTIONARY_COLUMNS} FROM dictionaries ORDER BY number")
    known = {number: (data, checksum) for number, data, checksum in stored if data or checksum}
    for number, (data, checksum) in known.items():
        if rows.row_checksum(b"%d" % abs(number), data) != checksum:
            yield f"a copy of dictionary {abs(number)} does not fit its checksum"
        elif len(data) > MAX_DICTIONARY_BYTES:
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
