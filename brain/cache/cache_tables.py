"""The tables of a cache, and how its file is opened.

Each row is a function of its key: metadata of a blob, the skill history of a snapshot, the
index text of a tree. So several processes, and copies of one brain, can share a file.
"""

from __future__ import annotations

import os
from contextlib import suppress

from ..errors import BrainError, StoreError
from ..store import database_file
from ..store.connection import Connection, DatabaseLabels

CACHE_FILE_NAME = "derived.db"
CACHE_FILE_SUFFIXES = ("", "-wal", "-shm")
CACHE_LABELS = DatabaseLabels(
    "the cache", "the cache", "the user's cache folder", "delete the file"
)

_LOCK_TIMEOUT = 5.0
"""Seconds to wait for another process that writes to the cache."""

_TABLES = (
    """CREATE TABLE cards (
  blob BLOB PRIMARY KEY,
  data BLOB NOT NULL,
  checksum BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE snapshots (
  id BLOB PRIMARY KEY
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE merges (
  snapshot BLOB PRIMARY KEY,
  generation INTEGER NOT NULL,
  checksum BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE history (
  path TEXT NOT NULL,
  generation INTEGER NOT NULL,
  snapshot BLOB NOT NULL,
  change INTEGER NOT NULL,
  version TEXT NOT NULL,
  slugs TEXT NOT NULL,
  checksum BLOB NOT NULL,
  PRIMARY KEY (path, generation, snapshot)
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE names (
  slug TEXT NOT NULL,
  path TEXT NOT NULL,
  PRIMARY KEY (slug, path)
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE sheet (
  number INTEGER PRIMARY KEY,
  data BLOB NOT NULL
) STRICT""",
    """CREATE TABLE note (
  data BLOB NOT NULL
) STRICT""",
)
CONTENT_TABLES = ("cards", "snapshots", "merges", "history", "names", "sheet", "note")


def open_cache_file(folder: str, version: int) -> Connection | None:
    """Open the cache file in `folder`; create it if it is missing, replace it if damaged.

    A file of another derivation `version` is replaced too. Returns None if no file can be
    opened or created.
    """
    path = os.path.join(folder, CACHE_FILE_NAME)
    for _ in range(2):
        try:
            return _open_or_create(path, version)
        except (BrainError, OSError) as error:
            if isinstance(error, OSError) or error.code not in ("bad_store", "io_error"):
                return None
            delete_cache_file(folder)
    return None


def open_memory_database(version: int) -> Connection:
    """Return an empty cache database in memory."""
    db = database_file.open_in_memory(CACHE_FILE_NAME, CACHE_LABELS)
    _create_tables(db, version)
    return db


def delete_cache_file(folder: str) -> None:
    """Delete the cache file in `folder`, if possible."""
    for ending in CACHE_FILE_SUFFIXES:
        with suppress(OSError):
            os.unlink(os.path.join(folder, CACHE_FILE_NAME + ending))


def _open_or_create(path: str, version: int) -> Connection:
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    database_file.check_database_files(path, CACHE_LABELS)
    db = database_file.open_for_writing(path, _LOCK_TIMEOUT, CACHE_LABELS)
    try:
        ((found,),) = db.fetch_all("PRAGMA user_version")
        if found not in (0, version):
            raise StoreError("the cache is of another version")
        db.execute("PRAGMA synchronous=OFF")  # a file that a power cut damages is replaced
        if found == 0:
            db.execute("PRAGMA journal_mode=WAL")
            _create_tables(db, version)
    except BaseException:
        db.close()
        raise
    return db


def _create_tables(db: Connection, version: int) -> None:
    db.begin()
    try:
        if db.fetch_all("PRAGMA user_version") == [(0,)]:  # else another process came first
            for sql in _TABLES:
                db.execute(sql)
            db.execute(f"PRAGMA user_version={version}")
        db.commit()
    finally:
        db.roll_back()
