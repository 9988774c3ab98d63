"""The records of a store, their limits and their checksums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from blake3 import blake3

from .. import limits
from ..digest import DIGEST_SIZE
from ..encoding import MAX_OBJECT_BYTES
from ..errors import InvalidInput, StoreError
from ..objects import paths
from ..objects.tree_node import LINK

CHECKSUM_BYTES = 8


def row_checksum(*fields: bytes) -> bytes:
    """Return the checksum of a row of byte strings."""
    framed = b"".join([b"%d:%b" % (len(field), field) for field in fields])
    return blake3(framed).digest(length=CHECKSUM_BYTES)


def cache_row_checksum(id: bytes, data: bytes) -> bytes:
    """Return the checksum of a derived row: CRC-32, since thousands are read at once."""
    return crc32(data, crc32(id)).to_bytes(4, "big")


def rows_crc(rows: Iterable[bytes], sum: int = 0) -> int:
    """Return the CRC-32 over rows in order, each framed by its length, continued from `sum`."""
    for row in rows:
        sum = crc32(row, crc32(b"%d:" % len(row), sum))
    return sum


if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Protocol
else:  # at run time nothing checks protocols, and creating them would take 3 ms
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

    `blob` is b"" if the file is to be removed. `before` is an opaque fingerprint of the file
    that it replaces, b"" for none.
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
"""Id, codec and stored data of a blob."""


class BlobPacking(NamedTuple):
    """`pack` makes rows of small blobs, also in a forked child; `insert` stores the rows.

    Blobs are given as (id, content).
    """

    pack: Callable[[list[tuple[bytes, bytes]]], list[BlobRow]]
    insert: Callable[[list[BlobRow]], None]


class BlobCheckResult(NamedTuple):
    """The result of reading some blobs again.

    `sizes` holds (id, size) of sound blobs, `faults` (id, message) of the others, and
    `selected` the sound ones that a `BlobPredicate` selected.
    """

    sizes: list[tuple[bytes, int]]
    faults: list[tuple[bytes, str]]
    selected: list[bytes]


BlobPredicate = Callable[[bytes, bytes], bool]
"""Selects blobs by id and content; called in the process that reads them."""


ExpectedSize = Callable[[bytes, int], int]
"""Returns the size that a large blob must have, given its id and the size it claims."""


def accept_claimed_size(blob: bytes, size: int) -> int:
    """Accept the size that a blob claims: an `ExpectedSize`."""
    return size


FindStandalone = Callable[[set[bytes]], set[bytes]]
"""Returns those of some blobs that are the whole content of a file."""

ObjectRange = tuple[int, int]
"""The first and the last row number of a range of structured objects."""

StoredObject = tuple[int, bytes, bytes | StoreError]
"""Kind, id, and the data or the error that reading it raised."""


class BlobSource(Protocol):
    """Where a large blob is read from: a file opened unbuffered, or `io.BytesIO`."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Read into `buffer` and return the number of bytes, 0 at the end."""

    def seek(self, offset: int, /) -> int:
        """Go to `offset` bytes from the start."""


class StoreReader(Protocol):
    """The reading methods of a store.

    Methods raise `NotFound` (`missing_object`, `redacted`) for missing and for redacted content,
    and `StoreError` for damage (`corrupt_object`, `corrupt_ref`, `corrupt_operation`,
    `corrupt_signature`, `corrupt_redaction`, `corrupt_pending`).
    """

    def read_object(self, kind: int, id: bytes) -> bytes:
        """Return a structured object; `FormatError` (`wrong_type`) if it is of another kind."""

    def has_object(self, id: bytes) -> bool:
        """Tell whether the store has an object of any kind."""

    def find_missing(self, ids: Iterable[bytes]) -> set[bytes]:
        """Return those of `ids` that the store lacks."""

    def find_snapshots(self, prefix: str) -> list[tuple[int, bytes]]:
        """Return (kind, id) of at most two snapshots whose hex id starts with `prefix`."""

    def stream_object_ids(self) -> Iterator[tuple[int, bytes]]:
        """Stream (kind, id) of all objects, blobs last; chunks of large blobs count as blobs."""

    def count_objects(self) -> int:
        """Return the number of objects of all kinds, chunks included."""

    def stream_objects(self, kind: int) -> Iterator[tuple[bytes, bytes]]:
        """Stream (id, data) of one kind in the order of insertion."""

    def blob_size(self, id: bytes) -> int:
        """Return the size of a blob; a small one is read, which proves its size."""

    def read_blob(self, id: bytes, size: int | None = None) -> bytes:
        """Return a whole blob after checking it against its id.

        If `size` is given, a large blob that claims another size is refused unread. Raises
        `InvalidInput` (`too_large`) above `limits.MAX_IN_MEMORY_BYTES`.
        """

    def read_small_blobs(self, ids: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Stream (id, content) of the small blobs among `ids`, once each, in any order.

        Large blobs are skipped: use `stream_blob`.
        """

    def stream_blob(self, id: bytes, size: int | None = None) -> Iterator[bytes]:
        """Stream a blob in pieces of at most `LARGE_BLOB_BYTES`; `size` as for `read_blob`.

        Each piece is checked against its own id, and the whole against `id` before the last one
        is yielded. Do not trust earlier pieces before the stream ends.
        """

    def check_chunk_lists(self) -> BlobCheckResult:
        """Return the sizes that large blobs claim, and faults, without reading content."""

    def check_blobs(
        self, predicate: BlobPredicate, expected: ExpectedSize = accept_claimed_size
    ) -> AbstractContextManager[Iterator[BlobCheckResult]]:
        """Read every blob again; yield an iterator of results, in storage order.

        `predicate` gets small blobs only. A large blob that does not have the `expected` size
        is a fault, and is not read; `expected` is called while the block iterates. Child
        processes share the work; the iterator raises `BrainError` (`worker_died`) if one of
        them did not finish.
        """

    def split_objects(self, size: int, max_ranges: int) -> list[ObjectRange]:
        """Cut the structured objects into at most `max_ranges` ranges, in order.

        A range has about `size` objects, or more where there would be too many ranges.
        """

    def read_object_range(self, object_range: ObjectRange) -> Iterator[StoredObject]:
        """Stream the objects of a range in the order of insertion."""

    def reopen_for_fork(self) -> AbstractContextManager[StoreReader]:
        """Open the store again in a forked child, which must not use an inherited connection."""

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

    def list_signatures(self, snapshot: bytes) -> list[tuple[bytes, bytes]]:
        """Return the signatures of a snapshot as (key, signature), by key; unverified."""

    def stream_signatures(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Stream (snapshot, key, signature) of everything that is signed, sorted."""

    def find_redactions(self, blobs: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return those of `blobs` that were redacted, each with the snapshot that did it.

        Only snapshots count that a ref leads to, or will when this transaction commits.
        """

    def list_redaction_rows(self) -> dict[bytes, bytes]:
        """Return all blobs in the table of redactions, sorted, each with its snapshot.

        `find_redactions` also checks the snapshot.
        """

    def needs_compaction(self) -> bool:
        """Tell whether old pages may still hold redacted content, until `Store.compact`."""

    def removal_epoch(self) -> int:
        """Return how often objects were removed from the store."""

    def list_pending_writes(self) -> list[PendingWrite]:
        """Return the files of the work tree that have yet to be written, by path."""

    def inspect_pending_writes(self) -> tuple[list[PendingWrite], list[str]]:
        """Return the intact pending writes, and the faults of damaged rows."""

    def check_stray_rows(self) -> list[str]:
        """Return the faults of rows that nothing else reads, and of rows stored twice."""

    def check_integrity(self) -> list[str]:
        """Return the faults that the integrity check of SQLite finds."""

    def size_on_disk(self) -> int:
        """Return the size of all files of the store in bytes."""

    def close(self) -> None:
        """Close the store; closing twice does no harm."""


class StoreTransaction(StoreReader, Protocol):
    """A write transaction; its reads see its own writes.

    Methods that store content raise `Conflict` (`redacted`) if it was redacted. They read what
    is stored under the same id, and replace it if it is something else.
    """

    def put_object(self, kind: int, id: bytes, data: bytes) -> None:
        """Store a structured object, unless the store has it."""

    def put_blob(self, content: bytes) -> bytes:
        """Store a blob and return its id."""

    def put_blobs(self, batch: list[tuple[bytes, bytes]]) -> None:
        """Store small blobs, given as (id, content) with ids the caller has computed.

        A worker thread may use the batch later; do not change it afterwards.
        """

    def get_packing(self, samples: list[bytes]) -> BlobPacking | None:
        """Return how to pack many small blobs in other processes and insert them.

        `samples` are some of them. None if this transaction is not for a large load.
        """

    def put_blob_stream(self, source: BlobSource, size: int, base: bytes | None) -> bytes:
        """Store the `size` bytes from the start of `source` and return their id.

        If the content starts with the blob `base`, only the rest is stored. Raises `Conflict`
        (`changed_while_reading`) if the source ends early.
        """

    def update_ref(self, name: str, old: bytes | None, new: bytes | None) -> None:
        """Move a ref from `old` to `new`, None meaning absent; else `Conflict` (`stale_ref`)."""

    def write_meta(self, key: str, value: bytes) -> None:
        """Store a small fact."""

    def append_operation(self, data: bytes) -> bytes:
        """Append to the operation log and return the id of the new operation."""

    def add_pending_writes(self, rows: Iterable[PendingWrite]) -> None:
        """Add files that have yet to be written, replacing earlier rows of the same paths.

        Raises `NotFound` (`redacted`) for redacted content.
        """

    def remove_pending_writes(self, paths: Iterable[str]) -> None:
        """Remove the pending writes of `paths`."""

    def put_signature(self, snapshot: bytes, key: bytes, signature: bytes) -> None:
        """Store a verified signature, replacing any other of that key."""

    def redact_blob(self, blob: bytes, snapshot: bytes, find_standalone: FindStandalone) -> None:
        """Destroy the content of a blob, if stored, and refuse it from now on.

        `snapshot` records the redaction. Chunks of a large blob are destroyed too, unless
        another blob needs them or `find_standalone` returns them.
        """

    def sweep_objects(self, marked: set[bytes], max_count: int) -> int:
        """Remove objects that are neither `marked` nor part of a marked one, with signatures.

        Returns the number of removed objects, at most `max_count`; if it is lower, the sweep is
        complete. Raises `StoreError` (`incomplete`) if a part of a large blob is missing.
        """


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
        """Begin a transaction, whose changes are durable when the `with` block ends.

        `expected_bytes` of content let the store prepare for a large load. Raises `Locked` if
        another transaction does not end in time.
        """

    def compact(self) -> bool:
        """Rewrite the store without free space, so that no file holds removed content.

        False if the disk has no room for that, or readers still use the old state.
        """

    def clear_pending_writes(self) -> None:
        """Remove all pending writes, in a transaction that a power cut may undo.

        After that, the next writer finds the files already written.
        """


MAX_FIELD_BYTES = 32 << 20
"""The longest field of any row; the engine refuses longer ones before it reads them."""
MAX_FINGERPRINT_BYTES = 256
"""Size of the fingerprint of a file."""
MAX_FACT_NAME_BYTES = 512
"""UTF-8 bytes in the name of a fact."""
MAX_DICTIONARY_BYTES = 1 << 20
"""Size of a dictionary for compression."""

_REF_PREFIX = "ref:"
_BRANCH_FACT = "meta:branch"
_FACT_SIZES = {
    "operations": 8 + DIGEST_SIZE,
    "epoch": 8,
    "redactions": 8,
    "meta:brain": DIGEST_SIZE,
    "meta:let-go": 8,
}
"""The sizes of facts in bytes."""
_COUNTER_FACTS = {"operations", "epoch", "redactions", "meta:let-go"}
"""Facts that begin with a count, which must be below 2^63."""


def find_fact_error(name: str, value: bytes) -> str:
    """Return the fault of a fact: a ref, a small setting, a count."""
    size = _FACT_SIZES.get(name)
    if size is not None:
        if len(value) != size:
            return f"it has {len(value)} bytes, not {size}"
        return "its count is too great" if value[0] >= 0x80 and name in _COUNTER_FACTS else ""
    if not name.isprintable() or len(name.encode()) > MAX_FACT_NAME_BYTES:
        return "its name is too long or cannot be shown"
    if name.startswith(_REF_PREFIX) and not 0 < len(value) <= DIGEST_SIZE:
        return f"a ref of {len(value)} bytes"
    if name == _BRANCH_FACT and not _is_branch_name(value):
        return "it is not the name of a branch"
    return ""


def _is_branch_name(value: bytes) -> bool:
    try:
        return len(value) <= limits.MAX_BRANCH_BYTES and value.decode().isprintable()
    except UnicodeDecodeError:
        return False


def find_operation_error(number: int, id: bytes, data: bytes) -> str:
    """Return the fault of a row of the operation log."""
    if number < 1 or len(id) != DIGEST_SIZE:
        return "its number or its id is impossible"
    return "" if len(data) <= MAX_OBJECT_BYTES else f"it has {len(data)} bytes"


def find_pending_error(row: PendingWrite) -> str:
    """Return the fault of a pending write."""
    try:
        paths.check_path(row.path)
    except InvalidInput as error:
        return error.message
    if not 0 <= row.kind <= LINK:
        return "its kind is not that of a file"
    if len(row.blob) not in (0, DIGEST_SIZE) or len(row.before) > MAX_FINGERPRINT_BYTES:
        return "its fields have the wrong sizes"
    return ""


def find_signature_error(snapshot: bytes, key: bytes, signature: bytes) -> str:
    """Return the fault of a signature."""
    sizes = len(snapshot), len(key), len(signature)
    return "" if sizes == (DIGEST_SIZE, 32, 64) else "its fields have the wrong sizes"
