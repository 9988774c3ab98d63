"""Verify every blob, and find rows that nothing else reads."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

from blake3 import blake3

from ..digest import DIGEST_SIZE, NO_DIGEST
from ..errors import BrainError, StoreError, corrupt_object_error, printable_text
from ..util.process_pool import JobQueue, SendValue, run_in_child
from . import ref_table
from . import rows as checksums
from . import rows as field_limits
from .blobs import (
    CODEC_CHUNK_LIST,
    CODEC_RAW,
    CODEC_ZSTD,
    EMPTY_CHUNK_LIST,
    BlobDecoder,
    ChunkList,
    can_extend,
    check_content,
)
from .connection import Connection
from .database import typed_columns
from .rows import BlobCheckResult, BlobPredicate, ExpectedSize

MAX_ROW_RANGES = 256
"""Many ranges, so that no process waits long for the others at the end."""
MIN_ROWS_PER_RANGE = 64
"""Rows in a range, unless there are fewer."""
MIN_RANGES_TO_FORK = 8
"""Ranges that make a fork worth its cost."""

_RANGE_SQL = (
    f"SELECT {typed_columns('id BLOB, codec INTEGER, data BLOB')} FROM blobs"
    " WHERE number BETWEEN ? AND ? ORDER BY number"
)

_RangeResult = tuple[list[tuple[bytes, int]], list[tuple[bytes, str]], list[bytes], list[bytes]]
"""The fields of a `BlobCheckResult` for one range, and the ids of large blobs in it."""


@contextmanager
def check_small_blobs(
    db: Connection,
    open_connection: Callable[[], Connection],
    large: list[bytes],
    processes: int,
    predicate: BlobPredicate,
) -> Iterator[Iterator[BlobCheckResult]]:
    """Check all small blobs; yield an iterator of results, while children work already.

    The ids of large blobs are appended to `large`. `open_connection` opens the connection of a
    child. `predicate` selects among sound blobs.
    """
    ranges = db.split_rows("blobs", MIN_ROWS_PER_RANGE, MAX_ROW_RANGES)
    queue = JobQueue(len(ranges))

    def work(send: SendValue) -> None:
        with closing(open_connection()) as connection:
            results = list(_check_ranges(connection, ranges, queue, predicate))
        for row_range in results:  # not before: the parent reads only when its own work is done
            send(row_range)

    children = processes - 1 if len(ranges) >= MIN_RANGES_TO_FORK else 0
    with closing(queue), ExitStack() as stack:
        child_results = [stack.enter_context(run_in_child(work)) for _ in range(children)]
        yield _merge_in_order(db, ranges, queue, child_results, large, predicate)


def _check_ranges(
    db: Connection, ranges: Sequence[tuple[int, int]], queue: JobQueue, predicate: BlobPredicate
) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the range, marshalled result)."""
    decoder = BlobDecoder(db)
    for number in queue:
        yield number, marshal.dumps(_check_range(db, decoder, predicate, *ranges[number]))


def _check_range(
    db: Connection, decoder: BlobDecoder, predicate: BlobPredicate, first: int, last: int
) -> _RangeResult:
    sizes: list[tuple[bytes, int]] = []
    faults: list[tuple[bytes, str]] = []
    selected: list[bytes] = []
    large: list[bytes] = []
    for id, codec, data in db.stream_rows(_RANGE_SQL, (first, last)):
        if codec == CODEC_CHUNK_LIST:
            large.append(id)
            continue
        try:
            content = check_content(id, decoder.decode(id, codec, data))
        except StoreError as error:
            faults.append((id, error.message))
            continue
        sizes.append((id, len(content)))
        if predicate(id, content):
            selected.append(id)
    return sizes, faults, selected, large


def _merge_in_order(
    db: Connection,
    ranges: Sequence[tuple[int, int]],
    queue: JobQueue,
    child_results: Sequence[Iterator[tuple[int, bytes]]],
    large: list[bytes],
    predicate: BlobPredicate,
) -> Iterator[BlobCheckResult]:
    """Check ranges from the queue; yield all results, also of the children, in order."""
    waiting: dict[int, bytes] = {}
    place = 0
    for results in (_check_ranges(db, ranges, queue, predicate), *child_results):
        for number, packed in results:
            waiting[number] = packed
            while place in waiting:
                sizes, faults, selected, chunk_lists = marshal.loads(waiting.pop(place))
                large += chunk_lists
                yield BlobCheckResult(sizes, faults, selected)
                place += 1
    if place < len(ranges):
        raise BrainError(
            "a part of the store was not checked: the process that checked it ended",
            code="worker_died",
            hint="see whether something kills processes or memory is short, and try again",
        )


class LargeBlobChecker:
    """Checks large blobs one by one.

    `read_chunk_list(blob)` and `read_chunk(blob, chunk, size)` raise typed errors for damaged or
    missing rows. `prefixes` are the blobs that others grew from. A blob whose size differs
    from `expected` is not read.
    """

    def __init__(
        self,
        read_chunk_list: Callable[[bytes], ChunkList],
        read_chunk: Callable[[bytes, bytes, int], bytes],
        prefixes: set[bytes],
        expected: ExpectedSize,
    ) -> None:
        self._read_chunk_list = read_chunk_list
        self._read_chunk = read_chunk
        self._prefixes = prefixes
        self._expected_size = expected
        self._prefix_states = {NO_DIGEST: (blake3(max_threads=blake3.AUTO), EMPTY_CHUNK_LIST)}
        self._last_states: dict[tuple[bytes, bytes], tuple[list[tuple[bytes, int]], blake3]] = {}

    def check(self, id: bytes) -> BlobCheckResult:
        """Read the unread chunks of a blob and compare the hash of the whole with its id."""
        try:
            size = self._verify_content(id, self._read_chunk_list(id))
        except BrainError as error:
            return BlobCheckResult([], [(id, error.message)], [])
        return BlobCheckResult([(id, size)], [], [])

    def _verify_content(self, id: bytes, chunk_list: ChunkList) -> int:
        if chunk_list.prefix not in self._prefix_states or not chunk_list.chunks:
            raise corrupt_object_error(id, "its prefix is damaged or missing")
        size = self._expected_size(id, chunk_list.size)
        if size != chunk_list.size:
            why = f"its chunk list makes {chunk_list.size} bytes, not {size}"
            raise corrupt_object_error(id, why)
        start, grown = self._prefix_states[chunk_list.prefix]
        if chunk_list.depth and not can_extend(chunk_list, grown):
            raise corrupt_object_error(id, "its prefix does not fit")
        place = (chunk_list.prefix, chunk_list.chunks[0])
        pieces = chunk_list.pieces()
        hashed, digest = self._last_states.get(place, ([], start))
        if pieces[: len(hashed)] != hashed:
            hashed, digest = [], start
        digest = digest.copy()
        for chunk, length in pieces[len(hashed) :]:
            digest.update(self._read_chunk(id, chunk, length))
        if digest.digest() != id:
            raise corrupt_object_error(id)
        self._last_states[place] = (pieces, digest)
        if id in self._prefixes:
            self._prefix_states[id] = (digest, chunk_list)
        return size


_DICTIONARY_COLUMNS = typed_columns("number INTEGER, data BLOB, checksum BLOB")


def find_stray_rows(
    db: Connection, facts: dict[str, bytes], head: tuple[int, bytes]
) -> Iterator[str]:
    """Yield the faults; the operation log ends at `head`."""
    ((count,),) = db.fetch_all(
        "SELECT count(*) FROM operations WHERE number < 1 OR number > ?", (head[0],)
    )
    if count:
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
