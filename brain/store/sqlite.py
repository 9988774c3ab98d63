"""The store on disk: one SQLite file, `store.db`, in the folder `.brain`."""

from __future__ import annotations

from .protocol import OpenTransaction
from .reading import SqliteReader
from .writing import SqliteTransaction

BULK = 32 << 20
"""Bytes of content from which on a load is worth a second thread."""


class SqliteStore(SqliteReader):
    """A store that can be written; see `Store`."""

    def transaction(self, expected_bytes: int = 0) -> OpenTransaction:
        """See `Store.transaction`."""
        if expected_bytes < BULK:
            return SqliteTransaction(self._db, self._path)
        from .bulk import BulkTransaction

        return BulkTransaction(self._db, self._path)

    def compact(self) -> bool:
        """See `Store.compact`."""
        from . import sweep

        if not sweep.compact(self._db, self._path):
            return False
        if self.has_traces():
            with SqliteTransaction(self._db, self._path) as transaction:
                transaction.forget_traces()
        return True

    def settle(self) -> None:
        """See `Store.settle`."""
        self._db.run("PRAGMA synchronous=NORMAL")
        try:
            self._db.run("DELETE FROM pending")
        finally:
            self._db.run("PRAGMA synchronous=FULL")
