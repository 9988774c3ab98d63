"""Check and open any SQLite file: for writing, for reading, or in memory."""

from __future__ import annotations

import os
from collections.abc import Callable

import apsw

from ..errors import NotFound, StoreError
from . import file_checks
from .connection import Connection, DatabaseLabels

DATABASE_FILE_SUFFIXES = ("", "-wal", "-shm", "-journal")
"""What is appended to the name of a database for the files that it consists of."""


def check_database_files(path: str, labels: DatabaseLabels) -> None:
    """Look at the database at `path`, and at the files beside it, without opening them.

    What is a link, a pipe or another user's might have been planted for us. Raises
    `NotFound` (`no_store`), `StoreError` (`bad_store`, `foreign_owner`, `cannot_open`,
    `io_error`).
    """
    for side in DATABASE_FILE_SUFFIXES:
        try:
            file_checks.check_regular_file(path + side, os.lstat(path + side))
        except FileNotFoundError as error:
            if not side:
                raise NotFound(f"{labels.file_label} is not here", code="no_store") from error
        except OSError as error:
            raise open_database_error(error, labels) from error


def open_for_writing(path: str, timeout: float, labels: DatabaseLabels) -> Connection:
    """Open a file for writing; `timeout` is in seconds, for another process's transaction."""
    name = os.path.basename(path)
    return Connection(path, apsw.SQLITE_OPEN_READWRITE, timeout=timeout, name=name, labels=labels)


def open_in_memory(name: str, labels: DatabaseLabels) -> Connection:
    """Open an empty database that nobody else sees; messages call it `name`."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_MEMORY
    return Connection(":memory:", flags, timeout=0, name=name, labels=labels)


def open_for_reading(
    path: str, timeout: float, labels: DatabaseLabels, check: Callable[[Connection], None]
) -> Connection:
    """Open a file for reading, and `check` it.

    If a killed writer left a rollback journal, its transaction is first rolled back, which
    changes the file. On a medium that cannot be written the engine cannot share its log's
    index. If the log is empty the file is then read as it stands (`immutable`); if it
    is not, that would show a state that never was, and `StoreError`
    (`read_only`) is raised.
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


def open_database_error(error: OSError, labels: DatabaseLabels) -> StoreError:
    """Return the error for a file that the system does not let be made or opened."""
    import errno

    codes = {errno.ENOSPC: "no_space", errno.EROFS: "read_only", errno.EACCES: "cannot_open"}
    return StoreError(
        f"{labels.file_label} cannot be made or opened: {error.strerror}",
        code=codes.get(error.errno or 0, "io_error"),
        hint=f"check {labels.folder}, its owner and the free space",
    )
