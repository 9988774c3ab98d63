"""A small database file beside the store that may be deleted at any time: of experience.

It is no part of the brain. Several processes and threads may write at once, and each write is one
transaction. A file that is damaged or was written by another program is an error, never an empty
one. The file is opened when it is needed, and made anew after somebody deleted it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from ..errors import Locked, NotFound, StoreError
from ..util.files import LockTimeout, lock_file
from .connection import Connection, DatabaseLabels, SqlRow, copy_owner
from .database import (
    DATABASE_FILE_SUFFIXES,
    check_database_files,
    check_table_schema,
    create_tables,
    open_database_error,
    open_for_reading,
    open_for_writing,
    open_guarded,
    read_header,
)

_OUTDATED = "store_outdated"
_REPLACED = "store_replaced"


@dataclass(frozen=True, slots=True, kw_only=True)
class SideFileFormat:
    """A kind of file beside the store.

    `application_id` marks the file (SQLite header, offset 68). `tables` are the statements that
    create its tables; without any, those of a file are not checked. `kind` is what errors call it,
    such as "file of experience", and `delete_hint` says that deleting it loses nothing of the
    brain. `timeout` is in seconds, for the transaction of another process. `synchronous` says what
    a power cut may lose: with NORMAL the last writes. `older_tables` are the tables of older
    versions, which lack some of the tables and are otherwise the same: the first writer adds
    those. Files of `outdated` versions are read as missing, and the first writer renames them.
    """

    file_name: str
    application_id: int
    version: int
    tables: tuple[str, ...]
    kind: str
    delete_hint: str
    timeout: float
    synchronous: str
    older_tables: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    outdated: tuple[int, ...] = ()

    @property
    def labels(self) -> DatabaseLabels:
        """The names of the file in messages."""
        name = f"the {self.kind}"
        return DatabaseLabels(name, name, "the folder .brain", self.delete_hint)


class SideDatabase:
    """One such file in the folder `.brain`; threads may share it.

    Its methods may raise `StoreError`: `bad_store` for a file that is damaged, cut or foreign,
    `unsupported_version`, `read_only`, `cannot_open`, `no_space`; or `Locked`.
    """

    def __init__(self, folder: str | os.PathLike[str], format: SideFileFormat) -> None:
        self._path = os.path.join(os.fspath(folder), format.file_name)
        self._format = format
        self._lock = threading.Lock()
        self._db: Connection | None = None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._drop_connection()

    def fetch_all(self, sql: str, args: Sequence[object] = ()) -> list[SqlRow]:
        """Return the rows of a statement, none without a file."""
        with self._lock:
            if not self._is_file_open():
                self._drop_connection()
            if self._db is None:
                try:
                    self._db = _open_file(self._path, self._format)
                except StoreError as error:
                    if error.code in (_OUTDATED, _REPLACED):
                        return []
                    raise
            return self._db.fetch_all(sql, args)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Write in one transaction; the file is created if it is missing."""
        with self._lock:
            try:
                db = self._begin()
            except StoreError as error:
                if error.code == _OUTDATED:
                    os.rename(self._path, f"{self._path}.old")
                elif error.code != _REPLACED:
                    raise
                self._drop_connection()  # somebody deleted the file, as is allowed
                db = self._begin()
            try:
                yield db
                db.commit()
            finally:
                db.roll_back()

    def _begin(self) -> Connection:
        if self._db is None:
            self._db = _open_or_create(self._path, self._format)
        self._db.begin()
        return self._db

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


def _open_or_create(path: str, format: SideFileFormat) -> Connection:
    if not os.path.lexists(path):
        try:
            with lock_file(os.path.dirname(path), format.timeout, "ignore"):
                if not os.path.lexists(path):
                    _create_file(path, format)
        except LockTimeout:
            raise Locked(
                f"another process is creating {format.file_name}",
                hint="wait until it is done, and try again",
            ) from None
        except OSError as error:
            raise open_database_error(error, format.labels) from error
    return _open_file(path, format)


def _create_file(path: str, format: SideFileFormat) -> None:
    """Create the file whole, under its final name only when it is done.

    So an empty file is one that was damaged.
    """
    temporary = f"{path}.new"
    for suffix in DATABASE_FILE_SUFFIXES:
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
    db = open_for_writing(temporary, format.timeout, format.labels)
    try:
        db.execute("PRAGMA journal_mode=MEMORY")
        db.begin()
        create_tables(db, format.tables, format.application_id, format.version)
        db.commit()
    finally:
        db.close()
    os.rename(temporary, path)


def _open_file(path: str, format: SideFileFormat) -> Connection:
    def check(db: Connection) -> None:
        _check_content(db, format)
        ((page_bytes,),) = db.fetch_all("PRAGMA page_size")
        if size % page_bytes:  # the engine would take the rest for zeros
            raise StoreError(f"{format.file_name} was cut", hint=format.delete_hint)

    try:
        check_database_files(path, format.labels)
        size = os.stat(path).st_size
    except (NotFound, FileNotFoundError) as error:
        raise StoreError(
            f"{format.file_name} was deleted meanwhile", code=_REPLACED, hint="try again"
        ) from error
    writable = os.access(path, os.W_OK) and os.access(os.path.dirname(path), os.W_OK)
    if not writable:
        return open_for_reading(path, format.timeout, format.labels, check)
    db = open_guarded(path, format.timeout, format.labels, check)
    db.execute(f"PRAGMA synchronous={format.synchronous}")
    try:
        _add_missing_tables(db, format)
    except BaseException:
        db.close()
        raise
    return db


def _add_missing_tables(db: Connection, format: SideFileFormat) -> None:
    """Bring a file of an older version to the present one; its rows stay as they are."""
    if read_header(db)[1] == format.version:
        return
    db.begin()
    try:
        version = read_header(db)[1]
        if version != format.version:  # no other process was faster
            for sql in format.tables[len(format.older_tables[version]) :]:
                db.execute(sql)
            db.execute(f"PRAGMA user_version={format.version}")
        db.commit()
    finally:
        db.roll_back()


def _check_content(db: Connection, format: SideFileFormat) -> None:
    """Check that the file is one of this program and version, with exactly its tables.

    Raises `StoreError` (`bad_store`, `unsupported_version`).
    """
    application, version = read_header(db)
    if application != format.application_id:
        raise StoreError(
            f"{format.file_name} is not a {format.kind}: it is empty, or another program wrote it",
            hint=format.delete_hint,
        )
    if version in format.outdated:
        raise StoreError(
            f"{format.file_name} was made by an older release", code=_OUTDATED, hint="write to it"
        )
    tables = {**format.older_tables, format.version: format.tables}.get(version)
    if tables is None:
        raise StoreError(
            f"{format.file_name} has version {version}, and this program reads {format.version}",
            code="unsupported_version",
            hint=f"another release of brain wrote it: use that one, or {format.delete_hint}",
        )
    if tables:
        check_table_schema(db, tables)
