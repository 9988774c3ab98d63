"""Counts of uses in `.brain/usage.db`, an SQLite file beside the store.

It is no part of the brain: no snapshot has it, and it may be deleted at any time, which only
starts the counts anew. Several processes and threads may count at once. A killed process
loses at most the use it was counting; a power cut may lose the last ones. A file that is damaged
or was written by another program is an error, never an empty one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import TypeVar

from ..encoding import pack
from ..errors import Locked, NotFound, StoreError
from ..store import checksums, database_file, schema
from ..store.connection import Connection, DatabaseLabels, SqlRow
from ..store.file_checks import FileIdentities, copy_owner
from ..util.file_lock import LockTimeout, lock_file
from .latency import decode_histogram, encode_histogram
from .usage_types import SkillUse, UsageCounts, add_use

USAGE_FILE_NAME = "usage.db"
USAGE_APPLICATION_ID = 0x62726E75
"""Marks the file (SQLite header, offset 68): "brnu"."""
USAGE_VERSION = 1
MAX_ROWS = 50_000
"""Versions of skills that are counted; beyond, the one that was unused for longest is dropped."""
MAX_RUNS = 50_000
"""Runs that are remembered, so that none is counted twice; the oldest are forgotten first."""
LOCK_TIMEOUT_SECONDS = 5.0
"""How long to wait for another process that counts."""

DELETE_HINT = (
    "delete .brain/usage.db: it holds only counts of uses, which begin anew, and nothing of the"
    " brain itself"
)
_LABELS = DatabaseLabels("the file of uses", "the file of uses", "the folder .brain", DELETE_HINT)

_TABLES = (
    """CREATE TABLE uses (
  number INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  version TEXT NOT NULL,
  program BLOB NOT NULL,
  uses INTEGER NOT NULL,
  successes INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  consecutive_failures INTEGER NOT NULL,
  timed INTEGER NOT NULL,
  took_total INTEGER NOT NULL,
  took_max INTEGER NOT NULL,
  histogram BLOB NOT NULL,
  failed_at INTEGER NOT NULL,
  failure TEXT NOT NULL,
  first_use INTEGER NOT NULL,
  last_use INTEGER NOT NULL,
  checksum BLOB NOT NULL,
  UNIQUE (path, version, program),
  UNIQUE (last_use, number)
) STRICT""",
    """CREATE TABLE runs (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE
) STRICT""",
)
_COLUMNS = (
    "path, version, program, uses, successes, failures, consecutive_failures, timed, took_total,"
    " took_max, histogram, failed_at, failure, first_use, last_use, checksum"
)
_FIELDS = _COLUMNS.split(", ")[:-1]
_HISTOGRAM_FIELD = _FIELDS.index("histogram")
_get_fields = attrgetter(*_FIELDS)
_KEY = "path = ? AND version = ? AND program = ?"
_INSERT = f"INSERT INTO uses (number, {_COLUMNS}) VALUES (?{', ?' * len(_COLUMNS.split(','))})"
_CHANGES = ", ".join(f"{name} = ?" for name in _COLUMNS.split(", ")[3:])
_UPDATE = f"UPDATE uses SET {_CHANGES} WHERE {_KEY}"

T = TypeVar("T")


class UsageStore:
    """The counts of one brain, in its folder `.brain`; the file is opened when it is needed.

    Every method may raise `StoreError`: `bad_store` for a file that is damaged, cut or foreign,
    `unsupported_version`, `read_only`, `cannot_open`, `no_space`; or `Locked`.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = os.fspath(folder)
        self._path = os.path.join(self._folder, USAGE_FILE_NAME)
        self._lock = threading.Lock()
        self._db: Connection | None = None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._drop_connection()

    def record_use(self, use: SkillUse) -> UsageCounts:
        """Count a use; return the counts of its version and program with it."""
        return self._write(lambda db: _count_use(db, use))

    def record_run(self, run: str, uses: Sequence[SkillUse]) -> bool:
        """Count the uses of a run, unless they are counted already; return whether they were not.

        `run` is any text that identifies the run.
        """
        return self._write(lambda db: _add_run(db, run, uses))

    def read_usage(self, path: str) -> list[UsageCounts]:
        """Return the counts of all versions and programs of the skill at a full path."""
        return self._read(f"SELECT {_COLUMNS} FROM uses WHERE path = ?", (path,))

    def list_usage(self) -> list[UsageCounts]:
        """Return all counts."""
        return self._read(f"SELECT {_COLUMNS} FROM uses ORDER BY path, number", ())

    def _read(self, sql: str, args: Sequence[str]) -> list[UsageCounts]:
        with self._lock:
            if not self._is_file_open():
                self._drop_connection()
            if self._db is None and not os.path.lexists(self._path):
                return []
            if self._db is None:
                self._db = _open_file(self._path)
            return list(map(_decode_row, self._db.fetch_all(sql, args)))

    def _write(self, action: Callable[[Connection], T]) -> T:
        with self._lock:
            try:
                return self._run_transaction(action)
            except StoreError as error:
                if error.code != "store_replaced":
                    raise
            self._drop_connection()  # somebody deleted the file, as is allowed
            return self._run_transaction(action)

    def _run_transaction(self, action: Callable[[Connection], T]) -> T:
        if self._db is None:
            self._db = _open_or_create(self._path)
        db = self._db
        db.begin()
        try:
            result = action(db)
            db.commit()
        finally:
            db.roll_back()
        return result

    def _is_file_open(self) -> bool:
        """Return whether the open file, if there is one, still has its name."""
        try:
            if self._db is not None:
                self._db.file_identities.check_unchanged()
        except StoreError:
            return False
        return True

    def _drop_connection(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


def _add_run(db: Connection, run: str, uses: Iterable[SkillUse]) -> bool:
    if db.fetch_one("SELECT 1 FROM runs WHERE id = ?", (run,)):
        return False
    db.execute("INSERT INTO runs (id) VALUES (?)", (run,))
    db.execute(f"DELETE FROM runs WHERE number <= (SELECT max(number) FROM runs) - {MAX_RUNS}")
    for use in uses:
        _count_use(db, use)
    return True


def _count_use(db: Connection, use: SkillUse) -> UsageCounts:
    key = use.path, use.version, use.program
    row = db.fetch_one(f"SELECT {_COLUMNS} FROM uses WHERE {_KEY}", key)
    new = UsageCounts(path=use.path, version=use.version, program=use.program)
    counted = add_use(_decode_row(row) if row else new, use)
    values = _encode_row(counted)
    if row is None:
        number = _take_number(db)
        db.execute(_INSERT, (number, *values))
    else:
        db.execute(_UPDATE, (*values[len(key) :], *key))
    return counted


def _take_number(db: Connection) -> int:
    """Return a free row number up to `MAX_ROWS`; at worst that of a row that is dropped."""
    ((last,),) = db.fetch_all("SELECT ifnull(max(number), 0) FROM uses")
    if last < MAX_ROWS:
        return int(last) + 1
    ((number,),) = db.fetch_all("SELECT number FROM uses ORDER BY last_use, number LIMIT 1")
    db.execute("DELETE FROM uses WHERE number = ?", (number,))
    return int(number)


def _encode_row(counts: UsageCounts) -> tuple[object, ...]:
    fields = list(_get_fields(counts))
    fields[_HISTOGRAM_FIELD] = encode_histogram(counts.histogram)
    return *fields, checksums.row_checksum(pack(fields))


def _decode_row(row: SqlRow) -> UsageCounts:
    """Return the counts of a row. Raises `StoreError` (`bad_store`) if it was changed."""
    *fields, checksum = row
    try:
        is_whole = checksum == checksums.row_checksum(pack(fields))
    except (TypeError, ValueError, OverflowError):
        is_whole = False
    if not is_whole:
        raise StoreError(f"a row of {USAGE_FILE_NAME} is damaged", hint=DELETE_HINT)
    fields[_HISTOGRAM_FIELD] = decode_histogram(fields[_HISTOGRAM_FIELD])
    return UsageCounts(**dict(zip(_FIELDS, fields, strict=True)))


def _open_or_create(path: str) -> Connection:
    if not os.path.lexists(path):
        try:
            with lock_file(os.path.dirname(path), LOCK_TIMEOUT_SECONDS, "ignore"):
                if not os.path.lexists(path):
                    _create_file(path)
        except LockTimeout:
            raise Locked(
                f"another process is creating {USAGE_FILE_NAME}",
                hint="wait until it is done, and try again",
            ) from None
        except OSError as error:
            raise database_file.open_database_error(error, _LABELS) from error
    return _open_file(path)


def _create_file(path: str) -> None:
    """Create the file whole, under its final name only when it is done.

    So an empty file is one that was damaged.
    """
    temporary = f"{path}.new"
    for suffix in database_file.DATABASE_FILE_SUFFIXES:
        with suppress(FileNotFoundError):
            os.unlink(temporary + suffix)
        with suppress(FileNotFoundError):  # the log of a file that was deleted belongs to no other
            os.unlink(path + suffix)
    handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(handle, 0o600)
        copy_owner(handle, os.path.dirname(path))
    finally:
        os.close(handle)
    db = database_file.open_for_writing(temporary, LOCK_TIMEOUT_SECONDS, _LABELS)
    try:
        db.execute("PRAGMA journal_mode=MEMORY")
        db.begin()
        for sql in _TABLES:
            db.execute(sql)
        db.execute(f"PRAGMA application_id={USAGE_APPLICATION_ID}")
        db.execute(f"PRAGMA user_version={USAGE_VERSION}")
        db.commit()
    finally:
        db.close()
    os.rename(temporary, path)


def _open_file(path: str) -> Connection:
    try:
        database_file.check_database_files(path, _LABELS)
    except NotFound as error:
        raise StoreError(error.message, code="store_replaced", hint="try again") from error
    writable = os.access(path, os.W_OK) and os.access(os.path.dirname(path), os.W_OK)
    if not writable:
        return database_file.open_for_reading(path, LOCK_TIMEOUT_SECONDS, _LABELS, _check_content)
    db = database_file.open_for_writing(path, LOCK_TIMEOUT_SECONDS, _LABELS)
    try:
        _check_content(db)
        db.execute("PRAGMA synchronous=NORMAL")  # the last counts are no loss worth an fsync each
        if db.fetch_all("PRAGMA journal_mode") != [("wal",)]:
            db.execute("PRAGMA journal_mode=WAL")
        db.file_identities = FileIdentities(path)
        db.file_identities.remember()
    except BaseException:
        db.close()
        raise
    return db


def _check_content(db: Connection) -> None:
    """Check that the file is one of this program and version, with exactly its tables.

    Raises `StoreError` (`bad_store`, `unsupported_version`).
    """
    (((application,),), ((version,),)) = (
        db.fetch_all("PRAGMA application_id"),
        db.fetch_all("PRAGMA user_version"),
    )
    if application != USAGE_APPLICATION_ID:
        raise StoreError(
            f"{USAGE_FILE_NAME} is not a file of uses: it is empty, or another program wrote it",
            hint=DELETE_HINT,
        )
    if version != USAGE_VERSION:
        raise StoreError(
            f"{USAGE_FILE_NAME} has version {version}, and this program reads {USAGE_VERSION}",
            code="unsupported_version",
            hint=f"another release of brain wrote it: use that one, or {DELETE_HINT}",
        )
    schema.check_table_schema(db, _TABLES)
