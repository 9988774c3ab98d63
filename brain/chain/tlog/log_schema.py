"""The tables of the log database, and its format.

`entries` holds the commitments, each with the hash of its leaf and those of the subtrees that
end with it, level by level; rows are never changed. The head of a brain is the entry without
a child, on which two indexes have to agree. `checkpoints` holds the last one, and each that a
witness cosigned.
"""

from __future__ import annotations

from ...store.connection import DatabaseLabels
from ...store.database import FileFormat

LOG_APPLICATION_ID = 0x62726C31
"""Marks the file as a log (SQLite header, offset 68): "brl1"."""
LOG_SCHEMA_VERSION = 1

LOG_TABLES = (
    """CREATE TABLE identity (
  key BLOB PRIMARY KEY,
  file TEXT NOT NULL,
  checksum BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE entries (
  number INTEGER PRIMARY KEY,
  brain BLOB NOT NULL,
  seq INTEGER NOT NULL,
  snapshot BLOB NOT NULL,
  parent BLOB NOT NULL,
  time INTEGER NOT NULL,
  hashes BLOB NOT NULL,
  UNIQUE (brain, seq),
  UNIQUE (brain, parent, seq)
) STRICT""",
    """CREATE TABLE checkpoints (
  size INTEGER PRIMARY KEY,
  root BLOB NOT NULL,
  signature BLOB NOT NULL
) STRICT""",
    """CREATE TABLE cosignatures (
  size INTEGER NOT NULL,
  key TEXT NOT NULL,
  signature BLOB NOT NULL,
  PRIMARY KEY (size, key)
) STRICT, WITHOUT ROWID""",
)
LOG = FileFormat(
    file_name="log.db",
    noun="a log",
    labels=DatabaseLabels(
        *("the log", "the log", "the folder of the log"),
        "run `brain chain verify` for details, and restore the folder of the log from a backup",
    ),
    application_id=LOG_APPLICATION_ID,
    version=LOG_SCHEMA_VERSION,
    tables=LOG_TABLES,
    timeout=60.0,
    foreign_hint="restore the folder of the log from a backup that is not older",
    version_hint="a newer release wrote it; upgrade to read it",
    read_only_hint="committing needs write access to the folder of the log",
)
