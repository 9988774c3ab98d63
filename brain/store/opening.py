"""The way in: making and opening a store in the folder `.brain`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import database
from .reading import SqliteReader
from .sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path


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


def _file(folder: Path) -> str:
    return os.path.join(folder, database.NAME)
