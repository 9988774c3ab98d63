"""Creating and opening the file of a store: modes, versions, read-only media."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import Conflict, StoreError
from . import dbfile, facts, schema
from .connection import STORE, Connection
from .inplace import InPlace

if TYPE_CHECKING:
    from pathlib import Path

NAME = "store.db"
TIMEOUT = 5.0
"""Seconds to wait for another process's transaction."""
PAGE_SIZE = 8192
"""Bytes in a page: 4096 costs a large load a quarter more time, 16384 costs each upsert more."""


def create(folder: Path) -> Connection:
    """Make an empty store in `folder`, which is made too, and open it.

    Folder and file are for their owner alone, whatever the umask says. Raises
    `Conflict` (`exists`) if there is a store, else as `open_writable`.
    """
    path = os.path.join(folder, NAME)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.chmod(folder, 0o700)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise Conflict("there is a store already", code="exists") from error
    except OSError as error:
        raise dbfile.refused(error, STORE) from error
    try:
        os.fchmod(handle, 0o600)
        os.close(handle)
        _build(path)
        dbfile.sync_folder(os.fspath(folder))
        dbfile.sync_folder(os.path.dirname(os.path.abspath(folder)))
    except BaseException:
        os.unlink(path)
        raise
    return open_writable(folder)


def _build(path: str) -> None:
    db = dbfile.writable(path, TIMEOUT, STORE)
    try:
        db.run(f"PRAGMA page_size={PAGE_SIZE}")
        db.run("PRAGMA journal_mode=MEMORY")
        db.begin()
        schema.build(db)
        facts.begin(db)
        db.commit()
    finally:
        db.close()


def open_writable(folder: Path, timeout: float = TIMEOUT) -> Connection:
    """Open the store in `folder` for writing.

    Raises `NotFound` (`no_store`), `StoreError` (`foreign_owner`, `bad_store`,
    `unsupported_version`, `read_only`, `cannot_open`), `Locked`.
    """
    path = _inspected(folder)
    if not os.access(path, os.W_OK) or not os.access(folder, os.W_OK):
        raise not_writable()
    db = dbfile.writable(path, timeout, STORE)
    try:
        schema.compare(db)
        if db.all("PRAGMA journal_mode") != [("wal",)]:
            db.run("PRAGMA journal_mode=WAL")
        db.in_place = InPlace(path)
        db.in_place.meet()
    except BaseException:
        db.close()
        raise
    return db


def _inspected(folder: Path) -> str:
    """Return the path of the store in `folder`, once nothing there leads elsewhere."""
    if os.path.islink(folder):
        raise StoreError(
            "the folder .brain is a link",
            hint="name the folder that holds the brain itself, or move .brain there",
        )
    path = os.path.join(folder, NAME)
    dbfile.inspect(path, STORE)
    return path


def not_writable() -> StoreError:
    """Return the error for a store that is on a read-only medium, or kept from us by its rights."""
    return StoreError(
        "the store cannot be written",
        code="read_only",
        hint="reading commands work; writing needs write access to the folder .brain",
    )


def open_readonly(folder: Path, timeout: float = TIMEOUT) -> Connection:
    """Open the store in `folder` for reading, see `dbfile.readable`.

    Errors as for `open_writable`.
    """
    return dbfile.readable(_inspected(folder), timeout, STORE, schema.compare)
