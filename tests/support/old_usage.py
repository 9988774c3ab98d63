"""The file `usage.db`, in which earlier releases counted uses."""

import sqlite3
from contextlib import closing
from pathlib import Path

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
    """CREATE TABLE inputs (
  number INTEGER PRIMARY KEY,
  recent BLOB NOT NULL,
  checksum BLOB NOT NULL
) STRICT""",
)
_INSERT = "INSERT INTO uses VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, x'', ?, ?, ?, ?, x'')"


def write_old_usage(folder: Path, version: int, *rows: tuple[object, ...]) -> None:
    """Write a file of version 1 or 2, with counts by the columns but the two digests, and a run.

    In version 2 the first of two inputs of the first row failed.
    """
    with closing(sqlite3.connect(folder / "usage.db")) as db:
        for sql in _TABLES[: version + 1]:
            db.execute(sql)
        db.executemany(_INSERT, rows)
        db.execute("INSERT INTO runs (id) VALUES ('a run')")
        if version == 2:
            recent = b"12345678\0" + b"abcdefgh\1"
            db.execute("INSERT INTO inputs VALUES (1, ?, x'')", (recent,))
        db.execute(f"PRAGMA user_version = {version}")
        db.execute(f"PRAGMA application_id = {0x62726E75}")
        db.commit()
