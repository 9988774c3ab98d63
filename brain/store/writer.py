"""The write side of the store."""

from __future__ import annotations

import io
import os
import shutil
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from .. import limits
from ..digest import blob_id
from ..errors import BrainError, InvalidInput, Locked, StoreError
from ..util.files import LockTimeout, lock_file
from . import high_water_mark, ref_table, store_database
from . import reader as operation_log
from . import reader as pending_table
from . import reader as signature_table
from .blobs import (
    CODEC_CHUNK_LIST,
    CODEC_RAW,
    INSERT_BLOB_SQL,
    REPLACE_BLOB_SQL,
    ChunkList,
    encode_chunk_list,
    select_differing_rows,
    select_new_blobs,
)
from .connection import MAX_WAL_BYTES, Connection, copy_owner, open_regular_file
from .database import typed_columns
from .large_blobs import BlobEncoder
from .reader import SqliteReader, object_checksum, open_store_reader
from .rows import (
    LARGE_BLOB_BYTES,
    BlobPacking,
    BlobRow,
    BlobSource,
    FindStandalone,
    ObjectKind,
    PendingWrite,
    Store,
    TransactionContext,
)

if TYPE_CHECKING:
    from pathlib import Path


_SWEEP_ORDER = (ObjectKind.SNAPSHOT, ObjectKind.BUNDLE, ObjectKind.NODE)
"""Objects are removed before those they refer to, so that no reference ever dangles."""


def incomplete_store_error(what: str) -> StoreError:
    """Return the error for a store in which a needed object is missing."""
    return StoreError(
        f"nothing was removed, because the store is incomplete: {what}",
        code="incomplete",
        hint="see `brain verify --deep`, and restore the folder .brain from a copy",
    )


def sweep_unmarked(reader: SqliteReader, marked: set[bytes], max_count: int) -> int:
    """See `StoreTransaction.sweep_objects`; `reader` reads inside the open transaction."""
    db = reader._db
    needed = marked | _find_chunks(reader, marked)
    objects = list(islice(_unmarked_objects(db, needed), max_count))
    blobs = list(islice(_unmarked_blobs(db, needed), max_count - len(objects)))
    db.execute_many("DELETE FROM objects WHERE number = ?", objects)
    db.execute_many("DELETE FROM blobs WHERE number = ?", blobs)
    if objects or blobs:
        _delete_orphaned_signatures(db)
    return len(objects) + len(blobs)


def _find_chunks(reader: SqliteReader, marked: set[bytes]) -> set[bytes]:
    """Return all chunks and prefixes of the large blobs among `marked`."""
    chunk_lists = reader.load_chunk_lists()
    parts: set[bytes] = set()
    stack = [id for id in chunk_lists if id in marked]
    while stack:
        chunk_list = chunk_lists[stack.pop()]
        parts.update(chunk_list.chunks)
        if chunk_list.depth and chunk_list.prefix not in parts:
            parts.add(chunk_list.prefix)
            if chunk_list.prefix in chunk_lists:
                stack.append(chunk_list.prefix)
    if missing := reader.find_missing(parts):
        raise incomplete_store_error(f"chunk {min(missing).hex()} is missing")
    return parts


def _unmarked_objects(db: Connection, marked: set[bytes]) -> Iterator[tuple[int]]:
    columns = typed_columns("id BLOB")
    sql = f"SELECT number, {columns} FROM objects WHERE kind = ? ORDER BY number DESC"
    for kind in _SWEEP_ORDER:
        yield from [(number,) for number, id in db.stream_rows(sql, (kind,)) if id not in marked]


def _unmarked_blobs(db: Connection, marked: set[bytes]) -> Iterator[tuple[int]]:
    sql = f"SELECT number, {typed_columns('id BLOB')} FROM blobs ORDER BY number DESC"
    yield from [(number,) for number, id in db.stream_rows(sql) if id not in marked]


def _delete_orphaned_signatures(db: Connection) -> None:
    db.execute("DELETE FROM signatures WHERE snapshot NOT IN (SELECT id FROM objects)")


def compact_database(db: Connection, path: str) -> bool:
    """Rewrite the database without free pages and empty its log; see `Store.compact`."""
    try:
        rewritten = _has_free_space(path)
        if rewritten:
            _vacuum(db)
        ((busy, _, _),) = db.fetch_all("PRAGMA wal_checkpoint(TRUNCATE)")
    except StoreError as error:
        if error.code != "no_space":
            raise
        return False
    return rewritten and not busy


def _vacuum(db: Connection) -> None:
    db.execute("PRAGMA temp_store=FILE")  # it takes as much space as the store
    try:
        db.execute("VACUUM")
    finally:
        db.execute("PRAGMA temp_store=MEMORY")


def _has_free_space(path: str) -> bool:
    """Tell whether the disk has room for two copies: a temporary file, and the log."""
    return shutil.disk_usage(os.path.dirname(path)).free > 2 * os.stat(path).st_size


LOCK_FILE_NAME = "lock"


@contextmanager
def writer_lock(folder: Path, timeout: float, label: str = "the brain") -> Iterator[bool]:
    """Hold the lock in `folder`, which protects `label`, during the block.

    Yields whether the last holder died while it held the lock. Raises `Locked` with the
    process id of the holder if another one keeps the lock for `timeout` seconds, `StoreError`
    (`read_only`, `cannot_open`, `bad_store`) if the lock file cannot be used. The file stays:
    if it were removed, two processes could lock two files of that name.
    """
    handle = _open_lock_file(folder, label)
    try:
        with ExitStack() as stack:
            try:
                stack.enter_context(lock_file(handle, timeout))
            except LockTimeout:
                raise _locked_error(handle, label) from None
            except OSError as error:
                raise _lock_error(folder, label, error) from error
            died = os.fstat(handle).st_size > 0
            try:
                _write_holder_pid(handle)
                yield died
            finally:
                with suppress(OSError):  # then the next holder cleans up without need
                    os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _write_holder_pid(handle: int) -> None:
    """Record the holder, without emptying the file meanwhile."""
    name = b"%d\n" % os.getpid()
    with suppress(OSError):  # as on a full disk; the lock holds without it
        os.pwrite(handle, name, 0)
        os.ftruncate(handle, len(name))


def _open_lock_file(folder: Path, label: str) -> int:
    path = os.path.join(folder, LOCK_FILE_NAME)
    try:
        handle = open_regular_file(path, os.O_RDWR | os.O_CREAT)
        if os.fstat(handle).st_mode & 0o600 != 0o600:  # new, under a umask that denies everything
            os.fchmod(handle, 0o600)
        copy_owner(handle, folder)
        return handle
    except OSError as error:
        raise _lock_error(folder, label, error) from error


def _lock_error(folder: Path, label: str, error: OSError) -> StoreError:
    return StoreError(
        f"cannot take the lock of {label}: {error.strerror}",
        code="cannot_open" if os.access(folder, os.W_OK) else "read_only",
        hint=f"writing needs write access to the folder {os.path.basename(folder)}",
    )


def _locked_error(handle: int, label: str) -> Locked:
    holder = os.pread(handle, 32, 0).decode("ascii", "replace").partition("\n")[0]
    by = f" by pid {holder}" if holder.isdigit() else ""
    return Locked(
        f"{label} is locked{by}",
        hint="wait until the other command is done, and try again",
    )


MIN_COMPRESSED_BATCH_BYTES = 256 << 10
"""Smallest batch that is compressed."""


class SqliteTransaction(SqliteReader):
    """One write transaction, used as a context: a `StoreTransaction`."""

    def __init__(self, db: Connection, path: str) -> None:
        super().__init__(db, path)
        self._facts_before: dict[str, bytes] = {}
        self._facts_now: dict[str, bytes] = {}

    def __enter__(self) -> Self:
        if self._db.in_transaction:
            raise StoreError(
                "a transaction of this store is open already",
                code="transaction_open",
                hint="end it first: transactions are not nested",
            )
        try:
            self._begin()
        except BaseException:
            self._roll_back()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self._roll_back()
            return
        try:
            self._commit()
        except BaseException:
            self._roll_back()
            raise

    def _begin(self) -> None:
        self._db.begin()
        self._load_facts()

    def _load_facts(self) -> None:
        self._facts_before = ref_table.load_facts(self._db)
        self._facts_now = dict(self._facts_before)
        marked_head = high_water_mark.read_mark(self._path)
        high_water_mark.check_operations_not_lost(marked_head, self._log_head_at_mark(marked_head))

    def _commit(self) -> None:
        ref_table.save_facts(self._db, self._facts_before, self._facts_now)
        self._db.commit()
        head = self._facts_now.get(ref_table.OPERATIONS_FACT, b"")
        if head != self._facts_before.get(ref_table.OPERATIONS_FACT, b""):
            high_water_mark.write_mark(self._path, head)
        self._truncate_wal()

    def _truncate_wal(self) -> None:
        """Checkpoint a long log now, since each opening of the store reads all of it.

        The transaction is durable already, so errors are ignored.
        """
        with suppress(StoreError, OSError):
            if os.stat(f"{self._path}-wal").st_size > MAX_WAL_BYTES:
                self._db.fetch_without_waiting("PRAGMA wal_checkpoint(TRUNCATE)")

    def _roll_back(self) -> None:
        self._db.roll_back()

    def _current_facts(self) -> dict[str, bytes]:
        return self._facts_now

    def put_object(self, kind: int, id: bytes, data: bytes) -> None:
        """See `StoreTransaction.put_object`; a differing row of that id is replaced."""
        self._db.execute(
            "INSERT INTO objects (id, kind, data, checksum) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, data = excluded.data,"
            " checksum = excluded.checksum"
            " WHERE data IS NOT excluded.data OR kind IS NOT excluded.kind"
            " OR checksum IS NOT excluded.checksum",
            (id, kind, data, object_checksum(id, kind, data)),
        )

    def put_blob(self, content: bytes) -> bytes:
        if len(content) >= LARGE_BLOB_BYTES:
            return self.put_blob_stream(io.BytesIO(content), len(content), None)
        id = blob_id(content)
        self.put_blobs([(id, content)])
        return id

    def put_blobs(self, batch: list[tuple[bytes, bytes]]) -> None:
        small = [row for row in batch if len(row[1]) < LARGE_BLOB_BYTES]
        if len(small) < len(batch):
            for _, content in batch:
                if len(content) >= LARGE_BLOB_BYTES:
                    self.put_blob(content)
        self._insert_blobs(small)

    def get_packing(self, samples: list[bytes]) -> BlobPacking | None:
        return None

    def put_blob_stream(self, source: BlobSource, size: int, base: bytes | None) -> bytes:
        from . import large_blobs

        return large_blobs.write_large_blob(self, source, size, base)

    def put_chunk_list(self, id: bytes, chunk_list: ChunkList) -> None:
        """Store a large blob whose chunks are stored.

        Another list is kept if it makes the blob: others may name it as their prefix.
        """
        if chunk_list.size > limits.MAX_FILE_BYTES:
            raise InvalidInput(
                f"a file has {chunk_list.size} bytes; at most {limits.MAX_FILE_BYTES} are allowed",
                code="too_large",
                hint="split it, or name it in .brainignore",
            )
        self._refuse_redacted_rows([(id,)])
        db, row = self._db, (id, CODEC_CHUNK_LIST, encode_chunk_list(id, chunk_list))
        before = db.total_changes
        db.execute(INSERT_BLOB_SQL, row)
        if db.total_changes == before and self._fetch_blob_row(id) != row[1:]:
            try:
                for _ in self.stream_blob(id, chunk_list.size):
                    pass
            except BrainError:
                db.execute(REPLACE_BLOB_SQL, row)

    def put_chunks(self, batch: list[tuple[bytes, bytes]]) -> None:
        """Store chunks of a large blob, given as (id, content)."""
        self._insert_blobs(batch)

    def _insert_blobs(self, batch: list[tuple[bytes, bytes]]) -> None:
        """Insert blobs, compressed if there are enough to justify loading Zstandard."""
        self._refuse_redacted_rows(batch)
        db = self._db
        is_small = sum(len(content) for _, content in batch) < MIN_COMPRESSED_BATCH_BYTES
        if is_small:
            before = db.total_changes
            db.execute_many(INSERT_BLOB_SQL, [(id, CODEC_RAW, content) for id, content in batch])
            if db.total_changes - before == len(batch):
                return
        from .blobs import select_new_blobs

        new = select_new_blobs(db, self._decoder, batch)
        if is_small:
            rows = [(id, CODEC_RAW, content) for id, content in new]
        else:
            from .large_blobs import BlobEncoder

            rows = BlobEncoder(db).packer.pack(new)
        db.execute_many(REPLACE_BLOB_SQL, rows)

    def _refuse_redacted_rows(self, rows: Sequence[tuple[bytes, *tuple[Any, ...]]]) -> None:
        """Refuse rows of redacted blobs; each row begins with the id of its blob."""
        if ref_table.REDACTIONS_FACT in self._facts_now:
            self._refuse_redacted_blobs(self._connection, [row[0] for row in rows])

    def update_ref(self, name: str, old: bytes | None, new: bytes | None) -> None:
        ref_table.compare_and_swap_ref(self._facts_now, name, old, new)

    def write_meta(self, key: str, value: bytes) -> None:
        self._facts_now[ref_table.META_PREFIX + key] = value

    def append_operation(self, data: bytes) -> bytes:
        number, previous = self._log_head()
        id = operation_log.chain_operation_id(previous, data)
        self._db.execute(
            "INSERT INTO operations (number, id, data) VALUES (?, ?, ?)", (number + 1, id, data)
        )
        self._facts_now[ref_table.OPERATIONS_FACT] = operation_log.encode_log_head(number + 1, id)
        return id

    def put_signature(self, snapshot: bytes, key: bytes, signature: bytes) -> None:
        signature_table.put_signature_row(self._db, snapshot, key, signature)

    def redact_blob(self, blob: bytes, snapshot: bytes, find_standalone: FindStandalone) -> None:
        from . import large_blobs, redaction_table

        if self.has_object(blob):
            large_blobs.erase_blob(self, blob, find_standalone, self.put_chunks)
        redaction_table.put_redaction_row(self._db, blob, snapshot)
        self._new_redactions = {**self._new_redactions, blob: snapshot}
        self._validity_cache = None
        ref_table.increment_counter(self._facts_now, ref_table.REDACTIONS_FACT)
        ref_table.increment_counter(self._facts_now, ref_table.EPOCH_FACT)
        self._facts_now[ref_table.COMPACTION_FACT] = b"\x01"

    def mark_compacted(self) -> None:
        """Record that no old page holds redacted content."""
        self._facts_now.pop(ref_table.COMPACTION_FACT, None)

    def sweep_objects(self, marked: set[bytes], max_count: int) -> int:

        ref_table.increment_counter(self._facts_now, ref_table.EPOCH_FACT)
        return sweep_unmarked(self, marked, max_count)

    def add_pending_writes(self, rows: Iterable[PendingWrite]) -> None:
        rows = list(rows)
        if ref_table.REDACTIONS_FACT in self._facts_now:
            for blob in self.find_redactions([row.blob for row in rows if row.blob]):
                raise self._missing_blob_error(blob)
        pending_table.put_pending_rows(self._db, rows)

    def remove_pending_writes(self, paths: Iterable[str]) -> None:
        pending_table.delete_pending_rows(self._db, paths)


MAX_EMPTY_STORE_BLOBS = 1000
"""A store with fewer blobs than this counts as empty."""
BULK_CACHE_KIB = 16 << 10
"""Page cache during the load: holds the index of some hundred thousand blobs."""
MAX_QUEUED_BATCHES = 2
"""Batches that may wait for the worker before the caller waits."""


class BulkTransaction(SqliteTransaction):
    """See `SqliteTransaction`; an error of the worker is raised by a later call."""

    _is_outside_wal = False
    _encoder: BlobEncoder | None = None
    _worker: ThreadPoolExecutor | None = None

    def __init__(self, db: Connection, path: str) -> None:
        super().__init__(db, path)
        self._packing_queue: deque[Future[list[BlobRow]]] = deque()
        self._queued_ids: set[bytes] = set()

    @property
    def _db(self) -> Connection:
        while self._packing_queue:
            self._insert_oldest()
        return self._connection

    def _insert_blobs(self, batch: list[tuple[bytes, bytes]]) -> None:
        self._refuse_redacted_rows(batch)
        db = self._connection
        encoder = self._encoder = self._encoder or BlobEncoder(db)
        unqueued = [row for row in batch if row[0] not in self._queued_ids]
        new = select_new_blobs(db, self._decoder, unqueued)
        encoder.train_dictionary(content for _, content in new)
        self._queued_ids.update(id for id, _ in new)
        if not self._worker:
            self._worker = ThreadPoolExecutor(1, "load")
        while len(self._packing_queue) > MAX_QUEUED_BATCHES:
            self._insert_oldest()
        self._packing_queue.append(self._worker.submit(encoder.packer.pack, new))

    def get_packing(self, samples: list[bytes]) -> BlobPacking:
        encoder = self._encoder = self._encoder or BlobEncoder(self._connection)
        encoder.train_dictionary(samples)
        return BlobPacking(partial(encoder.packer.pack, threads=1), self._insert_packed)

    def _insert_oldest(self) -> None:
        rows = self._packing_queue.popleft().result()
        self._connection.execute_many(REPLACE_BLOB_SQL, rows)
        self._queued_ids.difference_update(row[0] for row in rows)

    def _insert_packed(self, rows: list[BlobRow]) -> None:
        """Insert rows, of which some may be stored."""
        self._refuse_redacted_rows(rows)
        db = self._connection
        before = db.total_changes
        db.execute_many(INSERT_BLOB_SQL, rows)
        if db.total_changes - before < len(rows):
            db.execute_many(REPLACE_BLOB_SQL, select_differing_rows(db, self._decoder, rows))

    def _begin(self) -> None:
        db = self._connection
        (blobs,) = db.fetch_all(
            f"SELECT count(*) FROM (SELECT 1 FROM blobs LIMIT {MAX_EMPTY_STORE_BLOBS})"
        )
        if blobs[0] < MAX_EMPTY_STORE_BLOBS:
            self._is_outside_wal = self._set_journal_mode("delete")
        db.execute(f"PRAGMA cache_size=-{BULK_CACHE_KIB}")
        if self._is_outside_wal:
            db.execute("PRAGMA synchronous=EXTRA")
            db.begin_exclusive()
        else:
            db.begin()
        self._load_facts()

    def _commit(self) -> None:
        super()._commit()
        self._release_resources()

    def _roll_back(self) -> None:
        if self._worker:
            self._worker.shutdown(cancel_futures=True)
        self._packing_queue.clear()
        super()._roll_back()
        self._release_resources()

    def _release_resources(self) -> None:
        """Stop the thread, shrink the cache and return to the write-ahead log."""
        if self._worker:
            self._worker.shutdown()
        db = self._connection
        db.execute("PRAGMA cache_size=-2000")
        if self._is_outside_wal and self._set_journal_mode("wal"):
            db.execute("PRAGMA synchronous=FULL")
            self._is_outside_wal = False

    def _set_journal_mode(self, mode: str) -> bool:
        return self._connection.fetch_without_waiting(f"PRAGMA journal_mode={mode}") == [(mode,)]


BULK_LOAD_BYTES = 32 << 20
"""Bytes of content for which a load uses a second thread."""


class SqliteStore(SqliteReader):
    """A store that can be written; see `Store`."""

    def transaction(self, expected_bytes: int = 0) -> TransactionContext:
        if expected_bytes < BULK_LOAD_BYTES:
            return SqliteTransaction(self._db, self._path)

        return BulkTransaction(self._db, self._path)

    def compact(self) -> bool:

        if not compact_database(self._db, self._path):
            return False
        if self.needs_compaction():
            with SqliteTransaction(self._db, self._path) as transaction:
                transaction.mark_compacted()
        return True

    def clear_pending_writes(self) -> None:
        self._db.execute("PRAGMA synchronous=NORMAL")
        try:
            self._db.execute("DELETE FROM pending")
        finally:
            self._db.execute("PRAGMA synchronous=FULL")


def create_store(folder: Path) -> SqliteStore:
    """Create a store in `folder` and open it; errors as for `create_store_database`."""
    return SqliteStore(store_database.create_store_database(folder), _store_path(folder))


def open_store(folder: Path, timeout: float = store_database.TRANSACTION_TIMEOUT) -> SqliteStore:
    """Open the store in `folder` for writing; errors as for `open_store_database`.

    `timeout` limits the wait for a transaction of another process, in seconds.
    """
    return SqliteStore(store_database.open_store_database(folder, timeout), _store_path(folder))


def open_store_or_readonly(
    folder: Path, timeout: float = store_database.TRANSACTION_TIMEOUT
) -> Store:
    """Open the store in `folder` for writing, or for reading if it cannot be written.

    Errors as for `open_store`; `read_only` means that it cannot be read either.
    """
    try:
        return open_store(folder, timeout)
    except StoreError as error:
        if error.code != "read_only":
            raise
    return open_store_reader(folder, timeout)


def _store_path(folder: Path) -> str:
    return os.path.join(folder, store_database.STORE_FILE_NAME)
