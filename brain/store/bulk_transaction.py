"""A write transaction for a large load: a second thread compresses.

The caller reads and hashes files while a worker compresses the batch before, which the caller
then inserts. Few batches wait at a time, so memory use is constant. The worker does not insert:
each row takes and releases the interpreter lock, for which two busy threads would compete.

The first load of an empty store has no readers, so it uses a rollback journal with
`synchronous=EXTRA` instead of the write-ahead log, which writes everything twice. That is as
durable, and a crash leaves the empty store. If others have the store open, the log is used.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from .blobs.codec import INSERT_BLOB_SQL, REPLACE_BLOB_SQL
from .blobs.encoder import BlobEncoder
from .blobs.stored_blobs import select_differing_rows, select_new_blobs
from .connection import Connection
from .protocol import BlobPacking, BlobRow
from .sqlite_transaction import SqliteTransaction

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
