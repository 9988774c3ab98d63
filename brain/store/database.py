"""Create, check and open SQLite files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import apsw

from ..errors import BrainError, Conflict, Locked, NotFound, StoreError, printable_text
from ..util.files import FIRST_WAIT_SECONDS, next_lock_wait, sync_folder
from .connection import (
    STORE_LABELS,
    Connection,
    DatabaseLabels,
    FileIdentities,
    check_regular_file,
)
from .rows import SEAL_FACT, facts_checksum

if TYPE_CHECKING:
    from pathlib import Path

DATABASE_FILE_SUFFIXES = ("", "-wal", "-shm", "-journal")
"""Suffixes of the files of a database."""


def check_database_files(path: str, labels: DatabaseLabels) -> None:
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
        db.file_identities = FileIdentities(path)
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
    from urllib.parse import quote

    uri, flags = f"file:{quote(os.path.abspath(path))}?immutable=1", flags | apsw.SQLITE_OPEN_URI
    return _check_and_restrict(
        Connection(uri, flags, timeout=timeout, name=name, labels=labels), check
    )


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


def create_tables(db: Connection, tables: Iterable[str], application_id: int, version: int) -> None:
    """Write the header and tables of an empty file, inside the caller's transaction."""
    for sql in tables:
        db.execute(sql)
    db.execute(f"PRAGMA application_id={application_id}")
    db.execute(f"PRAGMA user_version={version}")


def read_header(db: Connection) -> tuple[int, int]:
    """Return the `application_id` of a file, and its version."""
    ((application_id,),) = db.fetch_all("PRAGMA application_id")
    ((version,),) = db.fetch_all("PRAGMA user_version")
    return application_id, version


def check_store_schema(db: Connection) -> None:
    """Check that a file is a store of this version, with exactly these tables.

    Raises `StoreError`: `bad_store` for another file, or one with a foreign table, trigger or
    view; `unsupported_version` for another version.
    """
    application, version = read_header(db)
    if application != APPLICATION_ID:
        raise StoreError(
            f"{db.name} is not the store of a brain",
            hint="another program wrote it: restore the folder .brain from a copy",
        )
    if version != SCHEMA_VERSION:
        raise StoreError(
            f"the store has version {version}, and this program reads version {SCHEMA_VERSION}",
            code="unsupported_version",
            hint="another release of brain wrote it: use that one, or a newer one",
        )
    check_table_schema(db, TABLES)


def check_table_schema(db: Connection, statements: Iterable[str]) -> None:
    """Check that a file holds exactly the tables that `statements` create.

    Raises `StoreError` (`bad_store`).
    """
    expected: set[tuple[str, str, str, str | None]] = set()
    for sql in statements:
        name = sql.split()[2]
        expected.add(("table", name, name, sql))
        for number in range(sql.count("UNIQUE")):
            expected.add(("index", f"sqlite_autoindex_{name}_{number + 1}", name, None))
    rows = db.fetch_all("SELECT type, name, tbl_name, sql FROM sqlite_schema")
    if len(rows) == len(expected) and set(rows) == expected:
        return
    foreign = sorted(f"{row[0]} {row[1]}" for row in set(rows) - expected)
    missing = sorted(f"{row[0]} {row[1]}" for row in expected - set(rows))
    fault = f"has a foreign {printable_text(foreign[0])}" if foreign else f"lacks the {missing[0]}"
    raise StoreError(
        f"the schema of {db.name} {fault}",
        hint="another program wrote this file; do not trust it",
    )


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
        raise open_database_error(error, STORE_LABELS) from error
    try:
        os.fchmod(handle, 0o600)
        os.close(handle)
        db = open_for_writing(path, TRANSACTION_TIMEOUT, STORE_LABELS)
        try:
            db.execute(f"PRAGMA page_size={STORE_PAGE_BYTES}")
            db.execute("PRAGMA journal_mode=MEMORY")
            db.begin()
            create_tables(db, TABLES, APPLICATION_ID, SCHEMA_VERSION)
            db.execute(
                "INSERT INTO facts (name, value) VALUES (?, ?)", (SEAL_FACT, facts_checksum({}))
            )
            db.commit()
        finally:
            db.close()
        sync_folder(folder)
        sync_folder(os.path.dirname(os.path.abspath(folder)))
    except BaseException:
        os.unlink(path)
        raise
    return open_store_database(folder)


def open_store_database(
    folder: Path, timeout: float = TRANSACTION_TIMEOUT, *, readonly: bool = False
) -> Connection:
    """Open the store in `folder`; `timeout` is in seconds, for another process's transaction.

    Raises `NotFound` (`no_store`), `StoreError` (`foreign_owner`, `bad_store`,
    `unsupported_version`, `read_only`, `cannot_open`), `Locked`.
    """
    if os.path.islink(folder):
        raise StoreError(
            "the folder .brain is a link",
            hint="name the folder that holds the brain itself, or move .brain there",
        )
    path = os.path.join(folder, STORE_FILE_NAME)
    check_database_files(path, STORE_LABELS)
    if readonly:
        return open_for_reading(path, timeout, STORE_LABELS, check_store_schema)
    if not os.access(path, os.W_OK) or not os.access(folder, os.W_OK):
        raise store_not_writable_error()
    return open_guarded(path, timeout, STORE_LABELS, check_store_schema)


def store_not_writable_error() -> StoreError:
    """Return the error for a store on a read-only medium, or without write permission."""
    return StoreError(
        "the store cannot be written",
        code="read_only",
        hint="reading commands work; writing needs write access to the folder .brain",
    )
