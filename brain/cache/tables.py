"""The tables of a cache, and the one way of opening its file.

Rows are functions of what they are filed under: a card of a blob, the history of skills
of a snapshot, the text of the index of a tree. So several processes, and copies of one
brain, may share a file: none can write what would be wrong for another.
"""

from __future__ import annotations

import os
from contextlib import suppress

from ..errors import BrainError, StoreError
from ..store import dbfile
from ..store.connection import Connection, Told

NAME = "derived.db"
SIDE_FILES = ("", "-wal", "-shm")
TOLD = Told("the cache", "the cache", "the user's cache folder", "delete the file")

_TIMEOUT = 5.0
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
CONTENTS = ("cards", "snapshots", "merges", "history", "names", "sheet", "note")


def open_file(folder: str, version: int) -> Connection | None:
    """Open the cache file in `folder`, made if there is none, replaced if it is damaged.

    `version` is that of what is derived: a file of another one is made anew. None where
    no file can be had.
    """
    path = os.path.join(folder, NAME)
    for _ in range(2):
        try:
            return _opened(path, version)
        except (BrainError, OSError) as error:
            if isinstance(error, OSError) or error.code not in ("bad_store", "io_error"):
                return None
            remove(folder)
    return None


def open_memory(version: int) -> Connection:
    """Return an empty cache that nobody else sees."""
    db = dbfile.in_memory(NAME, TOLD)
    _build(db, version)
    return db


def remove(folder: str) -> None:
    """Delete the cache file in `folder`, if there is one that can be deleted."""
    for ending in SIDE_FILES:
        with suppress(OSError):
            os.unlink(os.path.join(folder, NAME + ending))


def _opened(path: str, version: int) -> Connection:
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    dbfile.inspect(path, TOLD)
    db = dbfile.writable(path, _TIMEOUT, TOLD)
    try:
        ((found,),) = db.all("PRAGMA user_version")
        if found not in (0, version):
            raise StoreError("the cache is of another version")
        db.run("PRAGMA synchronous=OFF")  # what a power cut damages is made anew
        if found == 0:
            db.run("PRAGMA journal_mode=WAL")
            _build(db, version)
    except BaseException:
        db.close()
        raise
    return db


def _build(db: Connection, version: int) -> None:
    db.begin()
    try:
        if db.all("PRAGMA user_version") == [(0,)]:  # else another process came first
            for sql in _TABLES:
                db.run(sql)
            db.run(f"PRAGMA user_version={version}")
        db.commit()
    finally:
        db.abandon()
