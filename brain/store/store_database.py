"""Create and open `store.db`: modes, versions, read-only media."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import Conflict, StoreError
from ..util.files import sync_folder
from . import database, ref_table
from .connection import STORE_LABELS, Connection

if TYPE_CHECKING:
    from pathlib import Path

STORE_FILE_NAME = "store.db"
TRANSACTION_TIMEOUT = 5.0
"""Seconds to wait for another process's transaction."""
STORE_PAGE_BYTES = 8192
"""Bytes in a page: 4096 costs a large load a quarter more time, 16384 costs each upsert more."""


def create_store_database(folder: Path) -> Connection:
    """Create `folder` and an empty store in it, for their owner alone, and open the store.

    Raises `Conflict` (`exists`) if there is a store, else as `open_store_database`.
    """
    path = os.path.join(folder, STORE_FILE_NAME)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.chmod(folder, 0o700)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise Conflict(
            f"there is a store already in {os.path.basename(folder)}",
            code="exists",
            hint="open it, or name another folder",
        ) from error
    except OSError as error:
        raise database.open_database_error(error, STORE_LABELS) from error
    try:
        os.fchmod(handle, 0o600)
        os.close(handle)
        _create_schema(path)
        sync_folder(folder)
        sync_folder(os.path.dirname(os.path.abspath(folder)))
    except BaseException:
        os.unlink(path)
        raise
    return open_store_database(folder)


def _create_schema(path: str) -> None:
    db = database.open_for_writing(path, TRANSACTION_TIMEOUT, STORE_LABELS)
    try:
        db.execute(f"PRAGMA page_size={STORE_PAGE_BYTES}")
        db.execute("PRAGMA journal_mode=MEMORY")
        db.begin()
        database.create_tables(
            db, database.TABLES, database.APPLICATION_ID, database.SCHEMA_VERSION
        )
        ref_table.create_seal(db)
        db.commit()
    finally:
        db.close()


def open_store_database(folder: Path, timeout: float = TRANSACTION_TIMEOUT) -> Connection:
    """Open the store in `folder` for writing.

    Raises `NotFound` (`no_store`), `StoreError` (`foreign_owner`, `bad_store`,
    `unsupported_version`, `read_only`, `cannot_open`), `Locked`.
    """
    path = _check_store_files(folder)
    if not os.access(path, os.W_OK) or not os.access(folder, os.W_OK):
        raise store_not_writable_error()
    return database.open_guarded(path, timeout, STORE_LABELS, database.check_store_schema)


def _check_store_files(folder: Path) -> str:
    """Return the path of the store in `folder` after checking that nothing there is a link."""
    if os.path.islink(folder):
        raise StoreError(
            "the folder .brain is a link",
            hint="name the folder that holds the brain itself, or move .brain there",
        )
    path = os.path.join(folder, STORE_FILE_NAME)
    database.check_database_files(path, STORE_LABELS)
    return path


def store_not_writable_error() -> StoreError:
    """Return the error for a store on a read-only medium, or without write permission."""
    return StoreError(
        "the store cannot be written",
        code="read_only",
        hint="reading commands work; writing needs write access to the folder .brain",
    )


def open_store_database_readonly(folder: Path, timeout: float = TRANSACTION_TIMEOUT) -> Connection:
    """Open the store in `folder` for reading. Raises as `open_store_database`."""
    path = _check_store_files(folder)
    return database.open_for_reading(path, timeout, STORE_LABELS, database.check_store_schema)
