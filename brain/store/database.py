"""Creating and opening the file of a store: owners, modes, versions, read-only media."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import apsw

from ..errors import Conflict, NotFound, StoreError
from . import facts, schema
from .connection import Connection

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
        raise _refused(error) from error
    try:
        os.fchmod(handle, 0o600)
        os.close(handle)
        _build(path)
        _sync_folder(os.fspath(folder))
        _sync_folder(os.path.dirname(os.path.abspath(folder)))
    except BaseException:
        os.unlink(path)
        raise
    return open_writable(folder)


def _build(path: str) -> None:
    db = Connection(path, apsw.SQLITE_OPEN_READWRITE, timeout=TIMEOUT, name=NAME)
    try:
        db.run(f"PRAGMA page_size={PAGE_SIZE}")
        db.run("PRAGMA journal_mode=MEMORY")
        db.begin()
        schema.build(db)
        facts.begin(db)
        db.commit()
    finally:
        db.close()


def _sync_folder(folder: str) -> None:
    """Make names that were put into a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_writable(folder: Path, timeout: float = TIMEOUT) -> Connection:
    """Open the store in `folder` for writing, migrating it if it is older.

    Raises `NotFound` (`no_store`), `StoreError` (`foreign_owner`, `bad_store`,
    `unsupported_version`, `read_only`, `cannot_open`), `Locked`.
    """
    path = _inspect(folder)
    if not os.access(path, os.W_OK) or not os.access(folder, os.W_OK):
        raise not_writable()
    db = Connection(path, apsw.SQLITE_OPEN_READWRITE, timeout=timeout, name=NAME)
    try:
        if schema.version_of(db) < schema.VERSION:
            schema.migrate(db)
        schema.compare(db, schema.VERSION)
        if db.all("PRAGMA journal_mode") != [("wal",)]:
            db.run("PRAGMA journal_mode=WAL")
    except BaseException:
        db.close()
        raise
    return db


def not_writable() -> StoreError:
    """Return the error for a store that is on a read-only medium, or kept from us by its rights."""
    return StoreError(
        "the store cannot be written",
        code="read_only",
        hint="reading commands work; writing needs write access to the folder .brain",
    )


def open_readonly(folder: Path, timeout: float = TIMEOUT) -> Connection:
    """Open the store in `folder` for reading.

    On a medium that cannot be written the engine cannot share its log's index.
    If the log is empty the file is then read as it stands (`immutable`); if it
    is not, that would show a state that never was, and `StoreError`
    (`read_only`) is raised. Other errors as for `open_writable`. An older store
    is read as it is: a reader does not migrate.
    """
    path = _inspect(folder)
    try:
        return _checked(Connection(path, apsw.SQLITE_OPEN_READONLY, timeout=timeout, name=NAME))
    except StoreError as error:
        if error.code not in ("cannot_open", "read_only") or not os.access(path, os.R_OK):
            raise
        if _has_content(f"{path}-wal") or _has_content(f"{path}-journal"):
            raise StoreError(
                "the store holds changes that only a writer can take over",
                code="read_only",
                hint="run any command that writes; it needs write access to the folder .brain",
            ) from error
    return _checked(_open_immutable(path, timeout))


def _open_immutable(path: str, timeout: float) -> Connection:
    from urllib.parse import quote

    uri = f"file:{quote(os.path.abspath(path))}?immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return Connection(uri, flags, timeout=timeout, name=NAME)


def _checked(db: Connection) -> Connection:
    try:
        version = schema.version_of(db)
        schema.compare(db, version)
        schema.complete(db, version)
        db.run("PRAGMA query_only=ON")
    except BaseException:
        db.close()
        raise
    return db


def _inspect(folder: Path) -> str:
    """Return the path of the store after looking at what lies there, without opening it.

    Root may open anybody's store: it could read it anyway. Anybody else's store
    that we do not own might have been planted for us.
    """
    import stat

    path = os.path.join(folder, NAME)
    try:
        found = os.lstat(path)
    except FileNotFoundError as error:
        raise NotFound("there is no store here", code="no_store") from error
    except OSError as error:
        raise _refused(error) from error
    if not stat.S_ISREG(found.st_mode):
        raise StoreError("the store is not a regular file")
    if os.geteuid() not in (0, found.st_uid):
        raise StoreError(
            "the store belongs to another user",
            code="foreign_owner",
            hint="copy the brain to a folder of your own",
        )
    return path


def _has_content(path: str) -> bool:
    try:
        return os.stat(path).st_size > 0
    except FileNotFoundError:
        return False


def _refused(error: OSError) -> StoreError:
    import errno

    codes = {errno.ENOSPC: "no_space", errno.EROFS: "read_only", errno.EACCES: "cannot_open"}
    return StoreError(
        f"the store cannot be made or opened: {error.strerror}",
        code=codes.get(error.errno or 0, "io_error"),
        hint="check the folder .brain, its owner and the free space",
    )
