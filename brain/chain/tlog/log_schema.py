"""The tables of the log database, and the checks before it is used.

`entries` holds the commitments, each with the hash of its leaf and those of the subtrees that
end with it, level by level; rows are never changed. The head of a brain is the entry without
a child, on which two indexes have to agree. `checkpoints` holds the last one, and each that a
witness cosigned.
"""

from __future__ import annotations

from ...errors import StoreError
from ...store.connection import Connection
from ...store.database import check_table_schema, create_tables, read_header
from ...store.rows import row_checksum

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


def create_log_tables(db: Connection, key: bytes, file: str) -> None:
    """Create the tables of a log with the public key `key`, whose private key is in `file`."""
    db.begin()
    create_tables(db, LOG_TABLES, LOG_APPLICATION_ID, LOG_SCHEMA_VERSION)
    db.execute(
        "INSERT INTO identity VALUES (?, ?, ?)", (key, file, row_checksum(key, file.encode()))
    )
    db.commit()


def check_log_schema(db: Connection) -> None:
    """Check that a file is a log of this version, with no other tables.

    Raises `StoreError`: `bad_store`, `unsupported_version`.
    """
    application, version = read_header(db)
    if application != LOG_APPLICATION_ID:
        raise StoreError(
            f"{db.name} is not a log",
            hint="restore the folder of the log from a backup that is not older",
        )
    if version != LOG_SCHEMA_VERSION:
        raise StoreError(
            f"the log has version {version}, this program knows {LOG_SCHEMA_VERSION}",
            code="unsupported_version",
            hint="a newer release wrote it; upgrade to read it",
        )
    check_table_schema(db, LOG_TABLES)
