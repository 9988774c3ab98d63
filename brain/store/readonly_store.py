"""The store on disk, opened for reading only, for verification."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import store_database
from .protocol import TransactionContext
from .sqlite_reader import SqliteReader

if TYPE_CHECKING:
    from pathlib import Path


class ReadOnlyStore(SqliteReader):
    """A store that can only be read; writing raises `StoreError` (`read_only`)."""

    def transaction(self, expected_bytes: int = 0) -> TransactionContext:
        raise store_database.store_not_writable_error()

    def compact(self) -> bool:
        raise store_database.store_not_writable_error()

    def clear_pending_writes(self) -> None:
        raise store_database.store_not_writable_error()


def open_store_reader(
    folder: Path, timeout: float = store_database.TRANSACTION_TIMEOUT
) -> ReadOnlyStore:
    """Open the store in `folder` for reading; errors as for `open_store_database_readonly`.

    `timeout` limits the wait for a transaction of another process, in seconds.
    """
    return ReadOnlyStore(
        store_database.open_store_database_readonly(folder, timeout),
        os.path.join(folder, store_database.STORE_FILE_NAME),
    )
