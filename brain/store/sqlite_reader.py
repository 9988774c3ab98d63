"""The read side of the store on disk, inherited from one reader for each table."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import chain

from . import high_water_mark, operation_log, pending_table, ref_table, store_database
from .blobs.blob_reader import BlobReader
from .blobs.codec import BlobDecoder
from .connection import Connection
from .database_file import DATABASE_FILE_SUFFIXES
from .object_table import ObjectReader
from .protocol import (
    BlobCheckResult,
    BlobPredicate,
    ExpectedSize,
    OperationRow,
    PendingWrite,
    accept_claimed_size,
)
from .signature_table import SignatureReader

DEFAULT_CACHE_KIB = 2000
"""Page cache of a connection: the default of SQLite."""
INTEGRITY_CACHE_KIB = 16 << 10
"""Page cache of the check: holds the index of some hundred thousand blobs."""


class SqliteReader(ObjectReader, BlobReader, SignatureReader):
    """Reads one SQLite file: a `StoreReader`."""

    def __init__(self, db: Connection, path: str) -> None:
        super().__init__(db)
        self._path = path
        self._decoder = BlobDecoder(db)

    def read_ref(self, name: str) -> bytes | None:
        return self._current_facts().get(ref_table.REF_PREFIX + name)

    def list_refs(self) -> dict[str, bytes]:
        return ref_table.select_refs(self._current_facts())

    def read_meta(self, key: str) -> bytes | None:
        return self._current_facts().get(ref_table.META_PREFIX + key)

    def removal_epoch(self) -> int:
        return int.from_bytes(self._current_facts().get(ref_table.EPOCH_FACT, b""), "big")

    def needs_compaction(self) -> bool:
        return ref_table.COMPACTION_FACT in self._current_facts()

    def operation_count(self) -> int:
        return self._log_head()[0]

    def read_operation(self, number: int) -> OperationRow:
        return operation_log.read_logged_operation(self._db, number, self._log_head())

    def stream_operations(self) -> Iterator[OperationRow]:
        return operation_log.stream_log(self._db, self._log_head())

    def _log_head(self) -> tuple[int, bytes]:
        return operation_log.decode_log_head(self._current_facts().get(ref_table.OPERATIONS_FACT))

    def list_pending_writes(self) -> list[PendingWrite]:
        return pending_table.load_pending_rows(self._db)

    def inspect_pending_writes(self) -> tuple[list[PendingWrite], list[str]]:
        return pending_table.inspect_pending_rows(self._db)

    @contextmanager
    def check_blobs(
        self, predicate: BlobPredicate, expected: ExpectedSize = accept_claimed_size
    ) -> Iterator[Iterator[BlobCheckResult]]:
        """See `StoreReader.check_blobs`; large blobs come last."""
        from pathlib import Path

        from ..util.process_pool import processor_count
        from .blobs import blob_checks

        db, folder = self._db, Path(self._path).parent
        # Other processes do not see the changes of an open transaction.
        processes = 1 if db.in_transaction else processor_count()
        open_connection = partial(store_database.open_store_database_readonly, folder)
        large: list[bytes] = []
        with blob_checks.check_small_blobs(
            db, open_connection, large, processes, predicate
        ) as results:
            yield chain(results, self.check_large_blobs(large, expected))

    @contextmanager
    def reopen_for_fork(self) -> Iterator[SqliteReader]:
        from pathlib import Path

        with closing(store_database.open_store_database_readonly(Path(self._path).parent)) as db:
            yield SqliteReader(db, self._path)

    def check_stray_rows(self) -> list[str]:
        from . import stray_rows

        with self._db.reading_one_state():
            return list(stray_rows.find_stray_rows(self._db, ref_table.load_facts(self._db)))

    def check_integrity(self) -> list[str]:
        # The mark is read before the log, since others may write.
        marked_head = high_water_mark.read_mark(self._path)
        self._db.execute(f"PRAGMA cache_size=-{INTEGRITY_CACHE_KIB}")
        try:
            faults = [str(line) for (line,) in self._db.fetch_all("PRAGMA integrity_check")]
        finally:
            self._db.execute(f"PRAGMA cache_size=-{DEFAULT_CACHE_KIB}")
        if marked_head:
            head = self._log_head_at_mark(marked_head)
            faults.append(high_water_mark.describe_lost_operations(marked_head, head))
        return [fault for fault in faults if fault not in ("ok", "")]

    def _log_head_at_mark(self, marked_head: bytes) -> bytes:
        """Return the head that the log had at the marked operation, or that of a shorter log."""
        return operation_log.log_head_at(
            self._db, high_water_mark.marked_operation_number(marked_head), self._log_head()
        )

    def size_on_disk(self) -> int:
        files = (self._path + side for side in DATABASE_FILE_SUFFIXES)
        return sum(os.stat(file).st_size for file in files if os.path.exists(file))

    def close(self) -> None:
        self._db.close()
