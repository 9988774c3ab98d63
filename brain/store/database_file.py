"""Check and open any SQLite file: for writing, for reading, or in memory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import apsw

from ..errors import BrainError, Locked, NotFound, StoreError
from ..util.file_lock import FIRST_WAIT_SECONDS, next_lock_wait
from . import file_checks
from .connection import Connection, DatabaseLabels

DATABASE_FILE_SUFFIXES = ("", "-wal", "-shm", "-journal")
"""Suffixes of the files of a database."""


def check_database_files(path: str, labels: DatabaseLabels) -> None:
    """Check the files of the database at `path` without opening them.

    An attacker could have planted a link, a pipe or another user's file. Raises `NotFound`
    (`no_store`), `StoreError` (`bad_store`, `foreign_owner`, `cannot_open`, `io_error`).
    """
    for side in DATABASE_FILE_SUFFIXES:
        try:
            file_checks.check_regular_file(path + side, os.lstat(path + side))
        except FileNotFoundError as error:
            if not side:
                raise NotFound(
                    f"{labels.file_label} is missing: it has no {os.path.basename(path)}",
                    code="no_store",
                    hint=f"restore {labels.folder} from a copy",
                ) from error
        except OSError as error:
            raise open_database_error(error, labels) from error


def open_for_writing(path: str, timeout: float, labels: DatabaseLabels) -> Connection:
    """Open a file for writing; `timeout` is in seconds, for another process's transaction."""
    name = os.path.basename(path)
    return Connection(path, apsw.SQLITE_OPEN_READWRITE, timeout=timeout, name=name, labels=labels)


def open_guarded(
    path: str, timeout: float, labels: DatabaseLabels, check: Callable[[Connection], None]
) -> Connection:
    """Open a file for writing with a log, `check` it, and detect from now on if it is replaced."""
    db = open_for_writing(path, timeout, labels)
    try:
        check(db)
        if db.fetch_all("PRAGMA journal_mode") != [("wal",)]:
            _switch_to_wal(db, timeout)
        db.file_identities = file_checks.FileIdentities(path)
        db.file_identities.remember()
    except BaseException:
        db.close()
        raise
    return db


def _switch_to_wal(db: Connection, timeout: float) -> None:
    """Switch to the write-ahead log, at most `timeout` seconds after others began to write.

    The engine does not wait for them: of two that switch at once, each would wait for the other.
    """
    start = time.monotonic()
    wait = FIRST_WAIT_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode=WAL")
            return
        except Locked:
            waited = time.monotonic() - start
            if waited >= timeout:
                raise
        time.sleep(wait)
        wait = next_lock_wait(wait, waited)


def open_in_memory(name: str, labels: DatabaseLabels) -> Connection:
    """Open an empty private database; messages call it `name`."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_MEMORY
    return Connection(":memory:", flags, timeout=0, name=name, labels=labels)


def open_for_reading(
    path: str, timeout: float, labels: DatabaseLabels, check: Callable[[Connection], None]
) -> Connection:
    """Open a file for reading, and `check` it.

    If a killed writer left a rollback journal, its transaction is first rolled back, which
    changes the file. On a read-only medium the engine cannot share the index of its log. Then
    the file is read alone (`immutable`) if the log is empty. Otherwise that would show a state
    that never existed, so `StoreError` (`read_only`) is raised.
    """
    name, flags = os.path.basename(path), apsw.SQLITE_OPEN_READONLY
    try:
        return _check_and_restrict(
            Connection(path, flags, timeout=timeout, name=name, labels=labels), check
        )
    except StoreError as error:
        if error.code not in ("cannot_open", "read_only") or not os.access(path, os.R_OK):
            raise
        is_writable = os.access(path, os.W_OK) and os.access(os.path.dirname(path), os.W_OK)
        if is_writable and _has_content(f"{path}-journal"):
            writer = open_for_writing(path, timeout, labels)  # its first read rolls back
            return _check_and_restrict(writer, check)
        if _has_content(f"{path}-wal") or _has_content(f"{path}-journal"):
            raise StoreError(
                f"{labels.file_label} holds changes that only a writer can take over",
                code="read_only",
                hint=f"run any command that writes; it needs write access to {labels.folder}",
            ) from error
    return _check_and_restrict(_open_immutable(path, timeout, labels), check)


def _open_immutable(path: str, timeout: float, labels: DatabaseLabels) -> Connection:
    from urllib.parse import quote

    uri = f"file:{quote(os.path.abspath(path))}?immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return Connection(uri, flags, timeout=timeout, name=os.path.basename(path), labels=labels)


def _check_and_restrict(db: Connection, check: Callable[[Connection], None]) -> Connection:
    try:
        check(db)
        db.execute("PRAGMA query_only=ON")
    except BaseException:
        db.close()
        raise
    return db


def _has_content(path: str) -> bool:
    try:
        return os.stat(path).st_size > 0
    except FileNotFoundError:
        return False


class DisposableDatabase(NamedTuple):
    """A database that may be deleted at any time: how it is opened, and its tables created.

    A power cut may damage it, by the setting `synchronous`. `timeout` is in seconds.
    """

    version: int
    timeout: float
    synchronous: str
    labels: DatabaseLabels
    create_tables: Callable[[Connection], None]

    def open_file(self, path: str) -> Connection | None:
        """Open the file, for its owner alone, or create it; None if that is not possible.

        A file that is damaged or of another version is replaced.
        """
        for _ in range(2):
            try:
                return self._open_or_create(path)
            except (BrainError, OSError) as error:
                if isinstance(error, OSError) or error.code not in ("bad_store", "io_error"):
                    return None
                delete_database(path)
        return None

    def open_in_memory(self, name: str) -> Connection:
        """Open an empty database in memory; messages call it `name`."""
        db = open_in_memory(name, self.labels)
        self._create_tables_once(db)
        return db

    def _open_or_create(self, path: str) -> Connection:
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        check_database_files(path, self.labels)
        db = open_for_writing(path, self.timeout, self.labels)
        try:
            ((version,),) = db.fetch_all("PRAGMA user_version")
            if version not in (0, self.version):
                raise StoreError(
                    f"{self.labels.file_label} is of another version than this program writes",
                    hint="another release wrote it; use that one",
                )
            db.execute(f"PRAGMA synchronous={self.synchronous}")
            if not version:
                _switch_to_wal(db, self.timeout)
                self._create_tables_once(db)
        except BaseException:
            db.close()
            raise
        return db

    def _create_tables_once(self, db: Connection) -> None:
        db.begin()
        try:
            if db.fetch_all("PRAGMA user_version") == [(0,)]:  # else another process was first
                self.create_tables(db)
                db.execute(f"PRAGMA user_version={self.version}")
            db.commit()
        finally:
            db.roll_back()


def delete_database(path: str) -> None:
    """Delete the files of a database, if possible."""
    for suffix in DATABASE_FILE_SUFFIXES:
        with suppress(OSError):
            os.unlink(path + suffix)


def open_database_error(error: OSError, labels: DatabaseLabels) -> StoreError:
    """Return the error for a file that cannot be created or opened."""
    import errno

    codes = {errno.ENOSPC: "no_space", errno.EROFS: "read_only", errno.EACCES: "cannot_open"}
    return StoreError(
        f"{labels.file_label} cannot be created or opened: {error.strerror}",
        code=codes.get(error.errno or 0, "io_error"),
        hint=f"check {labels.folder}, its owner and the free space",
    )
