"""The folder of a log: the tables of its database, its private key and its high-water mark.

`entries` holds the commitments, each with the hash of its leaf and those of the subtrees that
end with it, level by level; rows are never changed. The head of a brain is the entry without
a child, on which two indexes have to agree. `checkpoints` holds the last one, and each that a
witness cosigned.

The database is created in full, then renamed into place. Every log has its own key, so a log
whose database is lost cannot be started again under the same origin, which would be a fork.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from ...errors import InvalidInput, NotFound, VerificationFailed
from ...store import database
from ...store.connection import Connection, FileFormat, read_mark
from ...store.rows import row_checksum
from ...store.writer import writer_lock
from ...trust import ed25519, keyfile
from ...util.files import move_durable, sync_folder
from .log_reader import LogReader

LOG_APPLICATION_ID = 0x62726C31
"""Marks the file as a log (SQLite header, offset 68): "brl1"."""
LOG_SCHEMA_VERSION = 1

LOG_TABLES = (
    """CREATE TABLE identity (
  key BLOB PRIMARY KEY,
  file TEXT NOT NULL,
  checksum BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE entries (
  number INTEGER PRIMARY KEY,
  brain BLOB NOT NULL,
  seq INTEGER NOT NULL,
  snapshot BLOB NOT NULL,
  parent BLOB NOT NULL,
  time INTEGER NOT NULL,
  hashes BLOB NOT NULL,
  UNIQUE (brain, seq),
  UNIQUE (brain, parent, seq)
) STRICT""",
    """CREATE TABLE checkpoints (
  size INTEGER PRIMARY KEY,
  root BLOB NOT NULL,
  signature BLOB NOT NULL
) STRICT""",
    """CREATE TABLE cosignatures (
  size INTEGER NOT NULL,
  key TEXT NOT NULL,
  signature BLOB NOT NULL,
  PRIMARY KEY (size, key)
) STRICT, WITHOUT ROWID""",
)
LOG = FileFormat(
    file_name="log.db",
    noun="a log",
    label="the log",
    folder="the folder of the log",
    damaged="run `brain verify --ledger local` for details, and restore the folder of the log"
    " from a backup",
    application_id=LOG_APPLICATION_ID,
    version=LOG_SCHEMA_VERSION,
    tables=LOG_TABLES,
    timeout=60.0,
    foreign_hint="restore the folder of the log from a backup that is not older",
    version_hint="a newer release wrote it; upgrade to read it",
    read_only_hint="committing needs write access to the folder of the log",
)


LOG_DATABASE = LOG.file_name
LOG_LOCK_SECONDS = LOG.timeout
"""Seconds to wait for other processes."""


def create_log(folder: Path, timeout: float = LOG_LOCK_SECONDS) -> None:
    """Create a log in `folder`, unless there is one; the folder is created too.

    Only the user can read folder, database and key, whatever the umask. Raises
    `StoreError` (`read_only`, `cannot_open`, `no_space`, `io_error`), `Locked`, or
    `VerificationFailed` (`rolled_back`) if there was a log that is gone.
    """
    if os.path.lexists(folder / LOG_DATABASE):
        return
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.chmod(folder, 0o700)
        with writer_lock(folder, timeout, "the log"):
            if not os.path.lexists(folder / LOG_DATABASE):
                _refuse_lost_log(folder)
                _build_log(folder)
    except OSError as error:
        raise database.open_database_error(error, LOG) from error


def _refuse_lost_log(folder: Path) -> None:
    if read_mark(os.fspath(folder / LOG_DATABASE)):
        raise VerificationFailed(
            f"the log in {folder} is gone, though entries of it were acknowledged",
            code="rolled_back",
            hint="restore the folder of the log from a backup;"
            " to start another log, use another folder",
        )


def _build_log(folder: Path) -> None:
    path = os.fspath(folder / f"{LOG_DATABASE}.new")
    _remove_unfinished(path)
    for unfinished in folder.glob(".log-*"):  # a partly written key
        unfinished.unlink()
    key = keyfile.create_key(folder, f"log-{secrets.token_hex(8)}")
    identity = key.key, key.name, row_checksum(key.key, key.name.encode())
    database.create_file(path, LOG, [("INSERT INTO identity VALUES (?, ?, ?)", identity)])
    database.open_file(path, LOG).close()  # which begins the write-ahead log
    move_durable(path, folder / LOG_DATABASE)
    _remove_unfinished(path)
    sync_folder(os.path.dirname(os.path.abspath(folder)))


def _remove_unfinished(path: str) -> None:
    for end in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(path + end)


def open_log_writable(folder: Path, timeout: float = LOG_LOCK_SECONDS) -> Connection:
    """Open the log in `folder` for appending.

    Raises `NotFound` (`no_store`), `StoreError` (`foreign_owner`, `bad_store`,
    `unsupported_version`, `read_only`, `cannot_open`), `Locked`.
    """
    return database.open_file(os.fspath(folder / LOG_DATABASE), LOG, timeout)


def open_log_readonly(folder: Path, timeout: float = LOG_LOCK_SECONDS) -> Connection | None:
    """Open the log in `folder` for reading, None if there is none.

    Raises as `open_log_writable`, and `VerificationFailed` (`rolled_back`) if it is gone.
    """
    try:
        return database.open_file(os.fspath(folder / LOG_DATABASE), LOG, timeout, readonly=True)
    except NotFound:
        _refuse_lost_log(folder)
        return None


def load_log_key(folder: Path, log: LogReader) -> bytes:
    """Return the private key of a log.

    Raises `NotFound` (`no_key`), `InvalidInput` (`wrong_key`, `bad_key`), `BrainError`
    (`unsafe_key_folder`, `unsafe_key_file`).
    """
    seed = keyfile.load_key(folder, log.key_file)
    if ed25519.public_key(seed) != log.key.key:
        raise InvalidInput(
            f"the key in {folder} belongs to another log",
            code="wrong_key",
            hint="restore the folder of the log from a backup",
        )
    return seed
