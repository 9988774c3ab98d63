"""The way in: making and opening a store in the folder `.brain`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import StoreError
from . import database
from .protocol import OpenTransaction, Store
from .reading import SqliteReader
from .sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path


class ReadOnlyStore(SqliteReader):
    """A store that can only be read; writing raises `StoreError` (`read_only`)."""

    def transaction(self, expected_bytes: int = 0) -> OpenTransaction:
        """Refuse; see `Store.transaction`."""
        raise database.not_writable()

    def compact(self) -> bool:
        """Refuse; see `Store.compact`."""
        raise database.not_writable()

    def settle(self) -> None:
        """Refuse; see `Store.settle`."""
        raise database.not_writable()


def create_store(folder: Path) -> SqliteStore:
    """Make a new store in `folder` and open it; errors as for `database.create`."""
    return SqliteStore(database.create(folder), _file(folder))


def open_store(folder: Path, timeout: float = database.TIMEOUT) -> SqliteStore:
    """Open the store in `folder` for writing; errors as for `database.open_writable`.

    `timeout` is how many seconds to wait for another process's transaction.
    """
    return SqliteStore(database.open_writable(folder, timeout), _file(folder))


def open_reader(folder: Path, timeout: float = database.TIMEOUT) -> SqliteReader:
    """Open the store in `folder` for reading; errors as for `database.open_readonly`."""
    return SqliteReader(database.open_readonly(folder, timeout), _file(folder))


def open_as_allowed(folder: Path, timeout: float = database.TIMEOUT) -> Store:
    """Open the store in `folder` for writing, for reading alone where it cannot be written.

    Errors as for `open_store`, of which `read_only` then means that it cannot be read either.
    """
    try:
        return open_store(folder, timeout)
    except StoreError as error:
        if error.code != "read_only":
            raise
    return ReadOnlyStore(database.open_readonly(folder, timeout), _file(folder))


def _file(folder: Path) -> str:
    return os.path.join(folder, database.NAME)
