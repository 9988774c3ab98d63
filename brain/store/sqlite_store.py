"""The store on disk: one SQLite file, `store.db`, created and opened in the folder `.brain`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import StoreError
from . import store_database
from .protocol import Store, TransactionContext
from .readonly_store import open_store_reader
from .sqlite_reader import SqliteReader
from .sqlite_transaction import SqliteTransaction

if TYPE_CHECKING:
    from pathlib import Path


BULK_LOAD_BYTES = 32 << 20
"""Bytes of content for which a load uses a second thread."""


class SqliteStore(SqliteReader):
    """A store that can be written; see `Store`."""

    def transaction(self, expected_bytes: int = 0) -> TransactionContext:
        if expected_bytes < BULK_LOAD_BYTES:
            return SqliteTransaction(self._db, self._path)
        from .bulk_transaction import BulkTransaction

        return BulkTransaction(self._db, self._path)

    def compact(self) -> bool:
        from . import sweep

        if not sweep.compact_database(self._db, self._path):
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
