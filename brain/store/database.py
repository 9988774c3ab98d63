"""The one way to check, create and open SQLite files: each kind of file is a `FileFormat`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import apsw

from ..errors import BrainError, Conflict, Locked, NotFound, StoreError, printable_text
from ..util.files import FIRST_WAIT_SECONDS, LockTimeout, lock_file, next_lock_wait, sync_folder
from .connection import (
    Connection,
    FileFormat,
    SqlRow,
    check_regular_file,
    copy_owner,
)
from .rows import SEAL_FACT, facts_checksum

if TYPE_CHECKING:
    from pathlib import Path

DATABASE_FILE_SUFFIXES = ("", "-wal", "-shm", "-journal")
"""Suffixes of the files of a database."""
OUTDATED = "store_outdated"


def check_database_files(path: str, format: FileFormat) -> None:
    """Check the files of the database at `path` without opening them.

    An attacker could have planted a link, a pipe or another user's file. Raises `NotFound`
    (`no_store`), `StoreError` (`bad_store`, `foreign_owner`, `cannot_open`, `io_error`).
    """
    for side in DATABASE_FILE_SUFFIXES:
        try:
            check_regular_file(path + side, os.lstat(path + side))
        except FileNotFoundError as error:
            if not side:
                raise NotFound(
                    f"{format.label} is missing: it has no {os.path.basename(path)}",
                    code="no_store",
                    hint=f"restore {format.folder} from a copy",
                ) from error
        except OSError as error:
            raise open_database_error(error, format) from error


def create_file(path: str, format: FileFormat, rows: Iterable[tuple[str, SqlRow]] = ()) -> None:
    """Create a file whole, for its owner alone, with `rows`: statements and their values.

    Raises `StoreError`, and `OSError` such as `FileExistsError`; a file that failed is removed.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            os.fchmod(handle, 0o600)
            copy_owner(handle, os.path.dirname(path))
        finally:
            os.close(handle)
        db = open_for_writing(path, format.timeout, format)
        try:
            db.execute(f"PRAGMA page_size={format.page_bytes}")
            db.execute("PRAGMA journal_mode=MEMORY")
            db.execute(f"PRAGMA synchronous={format.synchronous}")
            _create_tables(db, format)
            for sql, values in rows:
                db.execute(sql, values)
            db.commit()
        finally:
            db.close()
    except BaseException:
        os.unlink(path)
        raise


def _create_tables(db: Connection, format: FileFormat) -> None:
    db.begin()
    for sql in format.tables:
        db.execute(sql)
    db.execute(f"PRAGMA application_id={format.application_id}")
    db.execute(f"PRAGMA user_version={format.version}")


def open_file(
    path: str, format: FileFormat, timeout: float | None = None, *, readonly: bool = False
) -> Connection:
    """Check a file and open it; other processes may have it open.

    Raises `NotFound` (`no_store`), `StoreError` (`foreign_owner`, `bad_store`,
    `unsupported_version`, `read_only`, `cannot_open`), `Locked`.
    """
    timeout = format.timeout if timeout is None else timeout
    check_database_files(path, format)
    if readonly:
        return open_for_reading(path, timeout, format)
    if not is_writable(path):
        raise not_writable_error(format)
    db = open_for_writing(path, timeout, format)
    try:
        _check_content(db, path, format)
        if db.fetch_all("PRAGMA journal_mode") != [("wal",)]:
            _switch_to_wal(db, timeout)
        db.execute(f"PRAGMA synchronous={format.synchronous}")
        if not format.is_disposable:
            db.watch_files(path)
    except BaseException:
        db.close()
        raise
    return db


def open_as_allowed(path: str, format: FileFormat, *, create: bool) -> Connection:
    """Open a file, for reading if it cannot be written, after creating it if it is missing.

    It gets its name only when it is whole, so an empty file is one that was damaged.
    """
    if create and not os.path.lexists(path):
        try:
            with lock_file(os.path.dirname(path), format.timeout, "ignore"):
                if not os.path.lexists(path):
                    # The log of a file that was deleted belongs to no other.
                    delete_database(path)
                    delete_database(f"{path}.new")
                    create_file(f"{path}.new", format)
                    os.rename(f"{path}.new", path)
        except LockTimeout:
            raise Locked(
                f"another process is creating {format.file_name}",
                hint="wait until it is done, and try again",
            ) from None
        except OSError as error:
            raise open_database_error(error, format) from error
    readonly = not format.is_disposable and not is_writable(path)
    return open_file(path, format, readonly=readonly)


def open_disposable(path: str, format: FileFormat) -> Connection | None:
    """Open or create a file, and replace it if it is damaged or of another version.

    Returns None if that is not possible.
    """
    for _ in range(2):
        with suppress(OSError):
            try:
                return open_as_allowed(path, format, create=True)
            except BrainError as error:
                if error.code not in ("bad_store", "io_error", "unsupported_version"):
                    return None
                delete_database(path)
    return None


def is_writable(path: str) -> bool:
    """Tell whether a file and its folder can be written."""
    return os.access(path, os.W_OK) and os.access(os.path.dirname(path), os.W_OK)


def not_writable_error(format: FileFormat) -> StoreError:
    """Return the error for a file on a read-only medium, or without write permission."""
    return StoreError(
        f"{format.label} cannot be written",
        code="read_only",
        hint=format.read_only_hint,
    )


def open_for_writing(path: str, timeout: float, format: FileFormat) -> Connection:
    """Open a file for writing without a check of its content."""
    return Connection(path, apsw.SQLITE_OPEN_READWRITE, format, timeout)


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


def open_in_memory(format: FileFormat) -> Connection:
    """Open a private database with the tables of `format`."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_MEMORY
    db = Connection(":memory:", flags, format, 0)
    _create_tables(db, format)
    db.commit()
    return db


def open_for_reading(path: str, timeout: float, format: FileFormat) -> Connection:
    """Open a file for reading, and check it.

    If a killed writer left a rollback journal, its transaction is first rolled back, which
    changes the file. On a read-only medium the engine cannot share the index of its log. Then
    the file is read alone (`immutable`) if the log is empty. Otherwise that would show a state
    that never existed, so `StoreError` (`read_only`) is raised.
    """
    flags = apsw.SQLITE_OPEN_READONLY

    def restricted(db: Connection) -> Connection:
        try:
            _check_content(db, path, format)
            db.execute("PRAGMA query_only=ON")
        except BaseException:
            db.close()
            raise
        return db

    try:
        return restricted(Connection(path, flags, format, timeout))
    except StoreError as error:
        if error.code not in ("cannot_open", "read_only") or not os.access(path, os.R_OK):
            raise
        if is_writable(path) and _has_content(f"{path}-journal"):
            return restricted(open_for_writing(path, timeout, format))  # its first read rolls back
        if _has_content(f"{path}-wal") or _has_content(f"{path}-journal"):
            raise StoreError(
                f"{format.label} holds changes that only a writer can take over",
                code="read_only",
                hint=f"run any command that writes; it needs write access to {format.folder}",
            ) from error
    from urllib.parse import quote

    uri, flags = f"file:{quote(os.path.abspath(path))}?immutable=1", flags | apsw.SQLITE_OPEN_URI
    return restricted(Connection(uri, flags, format, timeout))


def _has_content(path: str) -> bool:
    try:
        return os.stat(path).st_size > 0
    except FileNotFoundError:
        return False


def delete_database(path: str) -> None:
    """Delete the files of a database, if possible."""
    for suffix in DATABASE_FILE_SUFFIXES:
        with suppress(OSError):
            os.unlink(path + suffix)


def open_database_error(error: OSError, format: FileFormat) -> StoreError:
    """Return the error for a file that cannot be created or opened."""
    import errno

    codes = {errno.ENOSPC: "no_space", errno.EROFS: "read_only", errno.EACCES: "cannot_open"}
    return StoreError(
        f"{format.label} cannot be created or opened: {error.strerror}",
        code=codes.get(error.errno or 0, "io_error"),
        hint=f"check {format.folder}, its owner and the free space",
    )


APPLICATION_ID = 0x62726E31
"""Marks the file as a store (SQLite header, offset 68): "brn1"."""
SCHEMA_VERSION = 4
"""`user_version` of the stores this program writes and reads; 1 to 3 were never released."""

TABLES = (
    """CREATE TABLE objects (
  number INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  kind INTEGER NOT NULL,
  data BLOB NOT NULL,
  checksum BLOB NOT NULL
) STRICT""",
    """CREATE TABLE blobs (
  number INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  codec INTEGER NOT NULL,
  data BLOB NOT NULL
) STRICT""",
    """CREATE TABLE dictionaries (
  number INTEGER PRIMARY KEY,
  data BLOB NOT NULL,
  checksum BLOB NOT NULL
) STRICT""",
    """CREATE TABLE facts (
  name TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE operations (
  number INTEGER PRIMARY KEY,
  id BLOB NOT NULL,
  data BLOB NOT NULL
) STRICT""",
    """CREATE TABLE pending (
  path TEXT PRIMARY KEY,
  kind INTEGER NOT NULL,
  blob BLOB NOT NULL,
  before BLOB NOT NULL,
  checksum BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE signatures (
  snapshot BLOB NOT NULL,
  key BLOB NOT NULL,
  signature BLOB NOT NULL,
  checksum BLOB NOT NULL,
  PRIMARY KEY (snapshot, key)
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE redactions (
  blob BLOB PRIMARY KEY,
  snapshot BLOB NOT NULL,
  checksum BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
)
"""The statements that create the tables."""


def typed_columns(typed: str) -> str:
    """Return a column list that yields the types in `typed`, such as `kind INTEGER, data BLOB`.

    A flipped bit can turn a blob into text or NULL. Checksums detect that, but need bytes.
    """
    pairs = [column.split() for column in typed.split(", ")]
    return ", ".join(f"CAST(ifnull({name}, '') AS {type}) AS {name}_" for name, type in pairs)


def read_version(db: Connection) -> int:
    """Return the version of a file's schema."""
    ((version,),) = db.fetch_all("PRAGMA user_version")
    return int(version)


def _check_content(db: Connection, path: str, format: FileFormat) -> None:
    ((application,),) = db.fetch_all("PRAGMA application_id")
    version = read_version(db)
    if application != format.application_id:
        raise StoreError(
            f"{format.file_name} is not {format.noun}: it is empty, or another program wrote it",
            hint=format.foreign_hint or format.damaged,
        )
    if version in format.outdated:
        raise StoreError(
            f"{format.file_name} was made by an older release", code=OUTDATED, hint="write to it"
        )
    tables = {**format.older_tables, format.version: format.tables}.get(version)
    if tables is None:
        raise StoreError(
            f"{format.label} has version {version}, and this program reads version"
            f" {format.version}",
            code="unsupported_version",
            hint=format.version_hint
            or f"another release of brain wrote it: use that one, or {format.damaged}",
        )
    if tables and not format.is_disposable:
        _check_tables(db, format.file_name, tables)
    if format.is_cut_refused:
        ((page_bytes,),) = db.fetch_all("PRAGMA page_size")
        if os.stat(path).st_size % page_bytes:
            raise StoreError(f"{format.file_name} was cut", hint=format.damaged)


def _check_tables(db: Connection, name: str, statements: Iterable[str]) -> None:
    expected: set[tuple[str, str, str, str | None]] = set()
    for sql in statements:
        table = sql.split()[2]
        expected.add(("table", table, table, sql))
        for number in range(sql.count("UNIQUE")):
            expected.add(("index", f"sqlite_autoindex_{table}_{number + 1}", table, None))
    rows = db.fetch_all("SELECT type, name, tbl_name, sql FROM sqlite_schema")
    if len(rows) == len(expected) and set(rows) == expected:
        return
    foreign = sorted(f"{row[0]} {row[1]}" for row in set(rows) - expected)
    missing = sorted(f"{row[0]} {row[1]}" for row in expected - set(rows))
    fault = f"has a foreign {printable_text(foreign[0])}" if foreign else f"lacks the {missing[0]}"
    raise StoreError(
        f"the schema of {name} {fault}",
        hint="another program wrote this file; do not trust it",
    )


STORE_FILE_NAME = "store.db"
TRANSACTION_TIMEOUT = 5.0
"""Seconds to wait for another process's transaction."""
STORE = FileFormat(
    file_name=STORE_FILE_NAME,
    noun="the store of a brain",
    label="the store",
    content_label="the brain",
    folder="the folder .brain",
    damaged="restore the folder .brain from a copy; `brain verify` tells what is damaged",
    application_id=APPLICATION_ID,
    version=SCHEMA_VERSION,
    tables=TABLES,
    timeout=TRANSACTION_TIMEOUT,
    foreign_hint="another program wrote it: restore the folder .brain from a copy",
    version_hint="another release of brain wrote it: use that one, or a newer one",
    read_only_hint="reading commands work; writing needs write access to the folder .brain",
    page_bytes=8192,  # 4096 costs a large load a quarter more time, 16384 costs each upsert more
)


def create_store_database(folder: Path) -> Connection:
    """Create `folder` and an empty store in it, for their owner alone, and open the store.

    Raises `Conflict` (`exists`) if there is a store, else as `open_store_database`.
    """
    path = os.path.join(folder, STORE_FILE_NAME)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.chmod(folder, 0o700)
        seal = SEAL_FACT, facts_checksum({})
        create_file(path, STORE, [("INSERT INTO facts (name, value) VALUES (?, ?)", seal)])
    except FileExistsError as error:
        raise Conflict(
            f"there is a store already in {os.path.basename(folder)}",
            code="exists",
            hint="open it, or name another folder",
        ) from error
    except OSError as error:
        raise open_database_error(error, STORE) from error
    try:
        sync_folder(folder)
        sync_folder(os.path.dirname(os.path.abspath(folder)))
    except BaseException:
        os.unlink(path)
        raise
    return open_store_database(folder)


def open_store_database(
    folder: Path, timeout: float = TRANSACTION_TIMEOUT, *, readonly: bool = False
) -> Connection:
    """Open the store in `folder`; `timeout` is in seconds. Raises as `open_file`."""
    if os.path.islink(folder):
        raise StoreError(
            "the folder .brain is a link",
            hint="name the folder that holds the brain itself, or move .brain there",
        )
    return open_file(os.path.join(folder, STORE_FILE_NAME), STORE, timeout, readonly=readonly)
