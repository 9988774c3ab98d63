"""Verify every blob: small ones in parallel, then large ones.

The rows are cut into parts, which are taken in turn by this process and by forked
children, each over a connection of its own. Rows are added behind the last part, so the
parts are the same to all of them; if rows are taken out meanwhile, which the epoch of the
store tells, the caller begins again. Verdicts come in the order of the rows, whoever gave
them.

Large blobs come in the order in which they were kept, so one that only grew is
hashed on from where the one before it ended. A thousand versions of a growing
file then cost little more than its last one.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

from blake3 import blake3

from ...digest import NO_DIGEST
from ...errors import BrainError, StoreError
from ...util.process_pool import JobQueue, SendValue, run_in_child
from ..connection import Connection
from ..protocol import BlobCheckResult, BlobPredicate, ExpectedSize
from ..schema import typed_columns
from .chunk_list import EMPTY_CHUNK_LIST, ChunkList, can_extend
from .codec import CODEC_CHUNK_LIST, BlobDecoder, corrupt_object_error

MAX_ROW_RANGES = 256
"""Parts that a store is cut into, so that none has long to wait for the others at the end."""
MIN_ROWS_PER_RANGE = 64
"""Rows in a part, unless there are fewer."""
MIN_RANGES_TO_FORK = 8
"""Parts from which on children pay."""

_RANGE_SQL = (
    f"SELECT {typed_columns('id BLOB, codec INTEGER, data BLOB')} FROM blobs"
    " WHERE number BETWEEN ? AND ? ORDER BY number"
)

_RangeResult = tuple[list[tuple[bytes, int]], list[tuple[bytes, str]], list[bytes], list[bytes]]
"""Of one part: a `Checked`, and the ids of large blobs, still to be judged."""


@contextmanager
def check_small_blobs(
    db: Connection,
    open_connection: Callable[[], Connection],
    large: list[bytes],
    processes: int,
    predicate: BlobPredicate,
) -> Iterator[Iterator[BlobCheckResult]]:
    """Begin to judge all rows but recipes; yield the verdicts, at which children are already.

    The ids of recipes are appended to `large`. `open_own` opens a connection for a child.
    What is sound is shown to `look`.
    """
    ranges = _split_rows(db)
    turns = JobQueue(len(ranges))

    def work(send: SendValue) -> None:
        with closing(open_connection()) as connection:
            results = list(_check_ranges(connection, ranges, turns, predicate))
        for row_range in results:  # not before: nobody listens until the parent has time
            send(row_range)

    children = processes - 1 if len(ranges) >= MIN_RANGES_TO_FORK else 0
    with closing(turns), ExitStack() as stack:
        child_results = [stack.enter_context(run_in_child(work)) for _ in range(children)]
        yield _merge_in_order(db, ranges, turns, child_results, large, predicate)


def _split_rows(db: Connection) -> list[tuple[int, int]]:
    """Return the parts as their first and last row."""
    ((first, last),) = db.fetch_all(
        "SELECT ifnull(min(number), 1), ifnull(max(number), 0) FROM blobs"
    )
    step = max(MIN_ROWS_PER_RANGE, -(-(last - first + 1) // MAX_ROW_RANGES))
    return [(start, min(start + step - 1, last)) for start in range(first, last + 1, step)]


def _check_ranges(
    db: Connection, ranges: Sequence[tuple[int, int]], turns: JobQueue, predicate: BlobPredicate
) -> Iterator[tuple[int, bytes]]:
    """Judge the parts whose turn it is; yield each with its number, packed."""
    decoder = BlobDecoder(db)
    for turn in turns:
        yield turn, marshal.dumps(_check_range(db, decoder, predicate, *ranges[turn]))


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
            content = decoder.decode(id, codec, data)
        except StoreError as error:
            faults.append((id, error.message))
            continue
        if blake3(content).digest() == id:
            sizes.append((id, len(content)))
            if predicate(id, content):
                selected.append(id)
        else:
            faults.append(
                (id, corrupt_object_error(id, "its content does not hash to its id").message)
            )
    return sizes, faults, selected, large


def _merge_in_order(
    db: Connection,
    ranges: Sequence[tuple[int, int]],
    turns: JobQueue,
    child_results: Sequence[Iterator[tuple[int, bytes]]],
    large: list[bytes],
    predicate: BlobPredicate,
) -> Iterator[BlobCheckResult]:
    """Judge what is left and yield all verdicts, also those of the helpers."""
    waiting: dict[int, bytes] = {}
    place = 0
    for results in (_check_ranges(db, ranges, turns, predicate), *child_results):
        for turn, packed in results:
            waiting[turn] = packed
            while place in waiting:
                sizes, faults, selected, recipes = marshal.loads(waiting.pop(place))
                large += recipes
                yield BlobCheckResult(sizes, faults, selected)
                place += 1
    if place < len(ranges):
        raise BrainError("a part of the store was not checked", code="worker_died")


class LargeBlobChecker:
    """Judges large blobs one by one.

    `recipe_of` and `read_chunk` (of a blob, a chunk, its size) raise typed errors for what
    is damaged or missing; `prefixes` are the blobs that others grew from. A blob that has
    to have another size, as `expected` says, is not read.
    """

    def __init__(
        self,
        recipe_of: Callable[[bytes], ChunkList],
        read_chunk: Callable[[bytes, bytes, int], bytes],
        prefixes: set[bytes],
        expected: ExpectedSize,
    ) -> None:
        self._read_chunk_list = recipe_of
        self._read_chunk = read_chunk
        self._prefixes = prefixes
        self._expected_size = expected
        self._prefix_states = {NO_DIGEST: (blake3(max_threads=blake3.AUTO), EMPTY_CHUNK_LIST)}
        self._last_states: dict[tuple[bytes, bytes], tuple[list[tuple[bytes, int]], blake3]] = {}

    def check(self, id: bytes) -> BlobCheckResult:
        """Read what has not been read of a blob and compare the whole with its id."""
        try:
            return BlobCheckResult(
                [(id, self._verify_content(id, self._read_chunk_list(id)))], [], []
            )
        except BrainError as error:
            return BlobCheckResult([], [(id, error.message)], [])

    def _verify_content(self, id: bytes, chunk_list: ChunkList) -> int:
        if chunk_list.prefix not in self._prefix_states or not chunk_list.chunks:
            raise corrupt_object_error(id, "what it grew from is damaged or missing")
        size = self._expected_size(id, chunk_list.size)
        if size != chunk_list.size:
            raise corrupt_object_error(id, f"its recipe makes {chunk_list.size} bytes, not {size}")
        start, grown = self._prefix_states[chunk_list.prefix]
        if chunk_list.depth and not can_extend(chunk_list, grown):
            raise corrupt_object_error(id, "its prefix does not fit")
        place = (chunk_list.prefix, chunk_list.chunks[0])
        pieces = list(zip(chunk_list.chunks, chunk_list.sizes, strict=True))
        done, digest = self._last_states.get(place, ([], start))
        if pieces[: len(done)] != done:
            done, digest = [], start
        digest = digest.copy()
        for chunk, length in pieces[len(done) :]:
            digest.update(self._read_chunk(id, chunk, length))
        if digest.digest() != id:
            raise corrupt_object_error(id, "its content does not hash to its id")
        self._last_states[place] = (pieces, digest)
        if id in self._prefixes:
            self._prefix_states[id] = (digest, chunk_list)
        return size
