"""The protocol of a store, whatever keeps the objects.

A store keeps objects under their ids until they are swept or redacted, a handful of
facts that change (refs, small settings) and a log of operations that only grows.
`sqlite` is the store on disk, `memory` its twin;
both pass the one suite in `tests/conformance/test_store.py`.

A store object belongs to one thread at a time. While a transaction is open, read
through the transaction: what the store itself answers meanwhile is not defined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from .annotation_protocol import AnnotationReader, AnnotationWriter
from .object_ranges import ObjectRangeReader

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Protocol
else:  # nothing checks protocols at run time, where making them takes 3 ms
    Protocol = object

LARGE_BLOB_BYTES = 256 << 10
"""Blobs of this many bytes or more are cut into chunks and should be streamed."""


class ObjectKind:
    """Kinds of objects; all but blobs are structured."""

    BLOB = 0
    NODE = 1
    BUNDLE = 2
    SNAPSHOT = 3


class PendingWrite(NamedTuple):
    """A file of the work tree that has yet to be written.

    `blob` is b"" where the file is to be removed. `before` is an opaque
    fingerprint of the file that was there, b"" if there was none.
    """

    path: str
    kind: int
    blob: bytes
    before: bytes


class OperationRow(NamedTuple):
    """One operation; `number` counts from 1, `id` chains to the operation before."""

    number: int
    id: bytes
    data: bytes


BlobRow = tuple[bytes, int, bytes]
"""Id, codec and data of a blob as the store on disk keeps it."""


class BlobPacking(NamedTuple):
    """`pack` makes rows of small blobs, also in a forked child; `keep` puts rows in.

    Blobs are given as (id, content).
    """

    pack: Callable[[list[tuple[bytes, bytes]]], list[BlobRow]]
    insert: Callable[[list[BlobRow]], None]


class BlobCheckResult(NamedTuple):
    """Some blobs, read again: (id, size) of the sound ones, (id, what is wrong) of the others.

    `named` are those of the sound ones that a `Look` picked out.
    """

    sizes: list[tuple[bytes, int]]
    faults: list[tuple[bytes, str]]
    selected: list[bytes]


BlobPredicate = Callable[[bytes, bytes], bool]
"""Picks out blobs, by id and content; called in whatever process reads them."""


ExpectedSize = Callable[[bytes, int], int]
"""Returns the size that a large blob has to have, given its id and the size it claims."""


def accept_claimed_size(blob: bytes, size: int) -> int:
    """Expect of a blob the size that it claims: an `ExpectedSize`."""
    return size


class BlobSource(Protocol):
    """Where a large blob is read from: a file opened unbuffered, or `io.BytesIO`."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Read into `buffer` and return the number of bytes, 0 at the end."""

    def seek(self, offset: int, /) -> int:
        """Go to `offset` bytes from the start."""


class StoreReader(AnnotationReader, ObjectRangeReader, Protocol):
    """Everything that can be asked of a store without changing it.

    Unless said otherwise, what is absent raises `NotFound` (`missing_object`) and
    what fails its check raises `StoreError` (`corrupt_object`, `corrupt_ref`,
    `corrupt_operation`, `corrupt_signature`, `corrupt_redaction`, `corrupt_pending`).
    Content that was redacted raises `NotFound` (`redacted`).
    """

    def read_object(self, kind: int, id: bytes) -> bytes:
        """Return a structured object; `FormatError` (`wrong_type`) if it is of another kind."""

    def has_object(self, id: bytes) -> bool:
        """Tell whether an object of any kind, blobs included, is here."""

    def find_missing(self, ids: Iterable[bytes]) -> set[bytes]:
        """Return those of `ids` that are not here."""

    def find_snapshots(self, prefix: str) -> list[tuple[int, bytes]]:
        """Return (kind, id) of at most two snapshots whose hex id starts with `prefix`."""

    def stream_object_ids(self) -> Iterator[tuple[int, bytes]]:
        """Stream (kind, id) of everything, blobs last; chunks of large blobs count as blobs."""

    def count_objects(self) -> int:
        """Return how many objects are here, of all kinds, chunks included."""

    def stream_objects(self, kind: int) -> Iterator[tuple[bytes, bytes]]:
        """Stream (id, data) of one kind in the order of insertion."""

    def blob_size(self, id: bytes) -> int:
        """Return the size of a blob; reads all of a small one, which proves its size."""

    def read_blob(self, id: bytes, size: int | None = None) -> bytes:
        """Return a whole blob after checking it against its id.

        Give `size`, if an entry says it: a large blob that claims another one is refused
        before any of it is read. Raises `InvalidInput` (`too_large`) above
        `limits.MAX_WHOLE_BYTES`.
        """

    def read_small_blobs(self, ids: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Stream (id, content) of the small blobs among `ids`, once each, in any order.

        Blobs kept in chunks are left out: `stream_blob` them.
        """

    def stream_blob(self, id: bytes, size: int | None = None) -> Iterator[bytes]:
        """Stream a blob in pieces of at most `LARGE` bytes; `size` as for `read_blob`.

        Each piece is checked against the id of its own, and the last one is given out only
        after the whole has been checked against `id`. So what was given out before counts
        once the stream has ended.
        """

    def check_chunk_lists(self) -> BlobCheckResult:
        """Return the sizes of all large blobs, as the store claims, and what cannot be right.

        No content is read.
        """

    def check_blobs(
        self, look: BlobPredicate, expected: ExpectedSize = accept_claimed_size
    ) -> AbstractContextManager[Iterator[BlobCheckResult]]:
        """Begin to read every blob again; the verdicts come in storage order, some at a time.

        Small blobs are shown to `look`. A large blob that is not of the `expected` size is a
        fault, and not read; it is asked once the block iterates. Other processes may be at it
        while the block does something else; a `BrainError` (`worker_died`) comes out of the
        iterator if one of them did not finish.
        """

    def read_ref(self, name: str) -> bytes | None:
        """Return the value of a ref."""

    def list_refs(self) -> dict[str, bytes]:
        """Return all refs by name, sorted."""

    def read_meta(self, key: str) -> bytes | None:
        """Return a small fact, such as the id of the brain."""

    def operation_count(self) -> int:
        """Return the number of the latest operation, 0 if there is none."""

    def read_operation(self, number: int) -> OperationRow:
        """Return one operation after checking its link; `NotFound` (`missing_operation`)."""

    def stream_operations(self) -> Iterator[OperationRow]:
        """Stream the operations, newest first, checking the chain."""

    def list_pending_writes(self) -> list[PendingWrite]:
        """Return the files of the work tree that have yet to be written, by path."""

    def inspect_pending_writes(self) -> tuple[list[PendingWrite], list[str]]:
        """Return the same, and what is wrong with the notes that are damaged."""

    def check_stray_rows(self) -> list[str]:
        """Return what is wrong with rows that nothing else reads, or that are kept twice."""

    def check_integrity(self) -> list[str]:
        """Return what the engine's own check complains of; empty if all is well."""

    def size_on_disk(self) -> int:
        """Return the bytes taken, side files included."""

    def close(self) -> None:
        """Give everything back; closing twice does no harm."""


class StoreTransaction(StoreReader, AnnotationWriter, Protocol):
    """A change in progress; its reads see its own writes.

    Keeping content that was redacted raises `Conflict` (`redacted`).
    """

    def put_object(self, kind: int, id: bytes, data: bytes) -> None:
        """Keep a structured object; nothing happens if it is here."""

    def put_blob(self, content: bytes) -> bytes:
        """Keep a blob and return its id."""

    def put_blobs(self, batch: list[tuple[bytes, bytes]]) -> None:
        """Keep small blobs, given as (id, content) with ids the caller has computed.

        The batch may be taken over by a worker thread; do not change it afterwards.
        """

    def get_packing(self, samples: list[bytes]) -> BlobPacking | None:
        """Return how to keep many small blobs that are packed by others.

        `samples` are some of them. None if this transaction is not for a large load.
        """

    def put_blob_stream(self, source: BlobSource, size: int, base: bytes | None) -> bytes:
        """Keep the `size` bytes from the start of `source` and return their id.

        `base` is the blob that was there before: if the new content starts with
        it, only what was appended is kept. Raises `Conflict`
        (`changed_while_reading`) if the source ends early.
        """

    def update_ref(self, name: str, old: bytes | None, new: bytes | None) -> None:
        """Move a ref from `old` to `new`, None meaning absent; else `Conflict` (`stale_ref`)."""

    def write_meta(self, key: str, value: bytes) -> None:
        """Keep a small fact."""

    def append_operation(self, data: bytes) -> bytes:
        """Append to the operation log and return the id of the new operation."""

    def add_pending_writes(self, rows: Iterable[PendingWrite]) -> None:
        """Note files that have yet to be written, replacing earlier notes on the same paths.

        Raises `NotFound` (`redacted`) for content that nobody can write any more.
        """

    def remove_pending_writes(self, paths: Iterable[str]) -> None:
        """Drop the notes on `paths`."""


class TransactionContext(Protocol):
    """The context of one transaction: commits on success, rolls back on any exception."""

    def __enter__(self) -> StoreTransaction: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...


class Store(StoreReader, Protocol):
    """A store that can be written."""

    def transaction(self, expected_bytes: int = 0) -> TransactionContext:
        """Begin a transaction, one writer at a time; `Locked` if another one stays.

        What it wrote is durable when the `with` block ends. `expected_bytes` of
        content let the store prepare for a large load.
        """

    def compact(self) -> bool:
        """Give free space back, so that of what was removed no trace is left in any file.

        False if there is no room for that now, or readers are at what was there before.
        """

    def clear_pending_writes(self) -> None:
        """Drop all notes on pending files, in a transaction that a power cut may undo.

        If it does, the next writer finds files that are as they should be.
        """
