"""A transaction for a large load: packing on a second thread.

The caller reads and hashes files while a worker compresses what came before; the
caller then puts it into the tables. Few batches wait at a time, so memory stays
flat. Inserting is left to the caller since it takes and gives back the lock of the
interpreter with each row, for which two busy threads would wait on each other.

The first load of an empty store has nothing to keep for readers, so it leaves
the write-ahead log, which would write everything twice, for a rollback journal
with `synchronous=EXTRA`: as durable, and a crash inside still leaves the empty
store. This needs the store for itself; if others have it open, the log is used.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from .codec import INSERT
from .connection import Connection
from .encoder import Encoder, absent
from .protocol import Packing, Row
from .writing import SqliteTransaction

FIRST_LOAD = 1000
"""A store with fewer blobs than this counts as empty."""
CACHE_KIB = 16 << 10
"""Page cache during the load: holds the index of some hundred thousand blobs."""
WAITING = 2
"""Batches that wait for the worker before the caller has to."""


class BulkTransaction(SqliteTransaction):
    """See `SqliteTransaction`; an error of the worker is raised by a later call."""

    _alone = False
    _encoder: Encoder | None = None
    _worker: ThreadPoolExecutor | None = None

    def __init__(self, db: Connection, path: str) -> None:
        super().__init__(db, path)
        self._work: deque[Future[list[Row]]] = deque()
        self._waiting: set[bytes] = set()

    @property
    def _db(self) -> Connection:
        while self._work:
            self._insert_oldest()
        return self._connection

    def _keep(self, batch: list[tuple[bytes, bytes]]) -> None:
        db = self._connection
        encoder = self._encoder = self._encoder or Encoder(db)
        new = absent(db, [row for row in batch if row[0] not in self._waiting])
        encoder.learn(content for _, content in new)
        self._waiting.update(id for id, _ in new)
        if not self._worker:
            self._worker = ThreadPoolExecutor(1, "load")
        while len(self._work) > WAITING:
            self._insert_oldest()
        self._work.append(self._worker.submit(encoder.packer.pack, new))

    def packing(self, samples: list[bytes]) -> Packing:
        """See `Transaction.packing`."""
        encoder = self._encoder = self._encoder or Encoder(self._connection)
        encoder.learn(samples)
        return Packing(partial(encoder.packer.pack, threads=1), self._insert)

    def _insert_oldest(self) -> None:
        rows = self._work.popleft().result()
        self._insert(rows)
        self._waiting.difference_update(row[0] for row in rows)

    def _insert(self, rows: list[Row]) -> None:
        self._refuse_redacted(rows)
        self._connection.run_many(INSERT, rows)

    def _begin(self) -> None:
        db = self._connection
        (blobs,) = db.all(f"SELECT count(*) FROM (SELECT 1 FROM blobs LIMIT {FIRST_LOAD})")
        if blobs[0] < FIRST_LOAD:
            self._alone = db.try_now("PRAGMA journal_mode=DELETE") == [("delete",)]
        db.run(f"PRAGMA cache_size=-{CACHE_KIB}")
        if self._alone:
            db.run("PRAGMA synchronous=EXTRA")
            db.begin_alone()
        else:
            db.begin()
        self._recall()

    def _commit(self) -> None:
        super()._commit()
        self._dismiss()

    def _roll_back(self) -> None:
        if self._worker:
            self._worker.shutdown(cancel_futures=True)
        self._work.clear()
        super()._roll_back()
        self._dismiss()

    def _dismiss(self) -> None:
        """Give back what the load took: the thread, the cache, the place outside the log."""
        if self._worker:
            self._worker.shutdown()
        db = self._connection
        db.run("PRAGMA cache_size=-2000")
        if self._alone and db.try_now("PRAGMA journal_mode=WAL") == [("wal",)]:
            db.run("PRAGMA synchronous=FULL")
            self._alone = False
