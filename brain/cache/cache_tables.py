"""The tables of a cache, and how its file is opened.

Each row is a function of its key: metadata of a blob, the skill history or the decision of a
snapshot, the index text of a tree. So several processes, and copies of one brain, can share a file.
"""

from __future__ import annotations

import os

from ..store.connection import Connection, DatabaseLabels
from ..store.database_file import DisposableDatabase

CACHE_FILE_NAME = "derived.db"
_CACHE_LABELS = DatabaseLabels(
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
    """CREATE TABLE decisions (
  key TEXT NOT NULL,
  generation INTEGER NOT NULL,
  snapshot BLOB NOT NULL,
  kind TEXT NOT NULL,
  slug TEXT NOT NULL,
  version TEXT NOT NULL,
  program BLOB NOT NULL,
  provisional INTEGER NOT NULL,
  checksum BLOB NOT NULL,
  PRIMARY KEY (key, generation, snapshot)
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE bare_nodes (
  node BLOB PRIMARY KEY,
  checksum BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE sheet (
  number INTEGER PRIMARY KEY,
  data BLOB NOT NULL
) STRICT""",
    """CREATE TABLE note (
  data BLOB NOT NULL
) STRICT""",
)
CONTENT_TABLES = tuple(sql.split()[2] for sql in _TABLES)


def open_cache_file(folder: str, version: int) -> Connection | None:
    """Open the cache file in `folder`, or create it; None if that is not possible.

    A file that is damaged or of another derivation `version` is replaced.
    """
    return _cache_database(version).open_file(os.path.join(folder, CACHE_FILE_NAME))


def open_memory_database(version: int) -> Connection:
    """Return an empty cache database in memory."""
    return _cache_database(version).open_in_memory(CACHE_FILE_NAME)


def _cache_database(version: int) -> DisposableDatabase:
    return DisposableDatabase(
        version=version,
        timeout=_LOCK_TIMEOUT,
        synchronous="OFF",
        labels=_CACHE_LABELS,
        create_tables=_create_tables,
    )


def _create_tables(db: Connection) -> None:
    for sql in _TABLES:
        db.execute(sql)
