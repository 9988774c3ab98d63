"""The folder of a log: its database, its key, its mark.

The database appears whole, by a rename. A log gets a key of its own when it is made, so
one whose database is lost is never begun anew under the same name: that would be a fork.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from ...errors import NotFound, StoreError, VerificationFailed
from ...store import dbfile, mark
from ...store.connection import Connection, Told
from ...store.inplace import InPlace
from ...store.lock import writer_lock
from ...trust import keyfile
from . import schema

NAME = "log.db"
TIMEOUT = 60.0
"""Seconds to wait for other processes."""

TOLD = Told(
    "the log",
    "the log",
    "the folder of the log",
    "run `brain chain verify` for details, and bring the folder of the log back from a copy",
)


def create(folder: Path, timeout: float = TIMEOUT) -> None:
    """Make a log in `folder`, which is made too, unless there is one.

    Folder, database and key are for their owner alone, whatever the umask says. Raises
    `StoreError` (`read_only`, `cannot_open`, `no_space`, `io_error`), `Locked`, or
    `VerificationFailed` (`rolled_back`) if there was a log that is gone.
    """
    if os.path.lexists(folder / NAME):
        return
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.chmod(folder, 0o700)
        with writer_lock(folder, timeout, "the log"):
            if not os.path.lexists(folder / NAME):
                _refuse_loss(folder)
                _make(folder)
    except OSError as error:
        raise dbfile.refused(error, TOLD) from error


def _refuse_loss(folder: Path) -> None:
    if mark.read(os.fspath(folder / NAME)):
        raise VerificationFailed(
            "the log is gone, though entries of it were acknowledged",
            code="rolled_back",
            hint="bring the folder of the log back from a copy;"
            " to begin another log, use another folder",
        )


def _make(folder: Path) -> None:
    path = os.fspath(folder / f"{NAME}.new")
    _clear(path)
    for left in folder.glob(".log-*"):  # a key that was not written to its end
        left.unlink()
    key = keyfile.create(folder, f"log-{secrets.token_hex(8)}")
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    os.chmod(path, 0o600)
    db = dbfile.writable(path, TIMEOUT, TOLD)
    try:
        db.run("PRAGMA journal_mode=MEMORY")
        schema.build(db, key.key, key.name)
        db.run("PRAGMA journal_mode=WAL")
    finally:
        db.close()
    os.rename(path, folder / NAME)
    _clear(path)
    dbfile.sync_folder(os.fspath(folder))
    dbfile.sync_folder(os.path.dirname(os.path.abspath(folder)))


def _clear(path: str) -> None:
    """Remove a database that was left unfinished, and the empty files beside it."""
    for end in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(path + end)


def open_writable(folder: Path, timeout: float = TIMEOUT) -> Connection:
    """Open the log in `folder` for appending.

    Raises `NotFound` (`no_store`), `StoreError` (`foreign_owner`, `bad_store`,
    `unsupported_version`, `read_only`, `cannot_open`), `Locked`.
    """
    path = os.fspath(folder / NAME)
    dbfile.inspect(path, TOLD)
    if not os.access(path, os.W_OK) or not os.access(folder, os.W_OK):
        raise StoreError(
            "the log cannot be written",
            code="read_only",
            hint="committing needs write access to the folder of the log",
        )
    db = dbfile.writable(path, timeout, TOLD)
    db.in_place = InPlace(path)
    try:
        schema.check(db)
        db.in_place.meet()
    except BaseException:
        db.close()
        raise
    return db


def open_readonly(folder: Path, timeout: float = TIMEOUT) -> Connection | None:
    """Open the log in `folder` for reading, None if there is none; errors as above."""
    path = os.fspath(folder / NAME)
    try:
        dbfile.inspect(path, TOLD)
    except NotFound:
        return None
    return dbfile.readable(path, timeout, TOLD, schema.check)
