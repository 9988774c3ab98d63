"""The tables of `evolution.db`."""

from __future__ import annotations

from ..store.side_database import SideFileFormat
from .experience_settings import EXPERIENCE_FILE_NAME

_TABLES = (
    """CREATE TABLE sequences (
  last INTEGER PRIMARY KEY,
  first INTEGER NOT NULL,
  rows INTEGER NOT NULL,
  oldest INTEGER NOT NULL,
  newest INTEGER NOT NULL,
  checksum BLOB NOT NULL,
  details_checksum BLOB NOT NULL,
  columns BLOB NOT NULL,
  details BLOB NOT NULL
) STRICT""",
    """CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL,
  checksum BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE work (
  number INTEGER PRIMARY KEY,
  is_done INTEGER NOT NULL,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  at INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  until INTEGER NOT NULL,
  result TEXT NOT NULL,
  data TEXT NOT NULL,
  progress TEXT NOT NULL,
  checksum BLOB NOT NULL,
  UNIQUE (kind, key),
  UNIQUE (is_done, kind, number)
) STRICT""",
    """CREATE TABLE events (
  number INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  evolver TEXT NOT NULL,
  name TEXT NOT NULL,
  trigger_reason TEXT NOT NULL,
  phase TEXT NOT NULL,
  result TEXT NOT NULL,
  checksum BLOB NOT NULL,
  UNIQUE (evolver, number)
) STRICT""",
    """CREATE TABLE notes (
  name TEXT PRIMARY KEY,
  text TEXT NOT NULL,
  checksum BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE rates (
  number INTEGER PRIMARY KEY,
  key TEXT NOT NULL,
  name TEXT NOT NULL,
  seconds INTEGER NOT NULL,
  period INTEGER NOT NULL,
  count INTEGER NOT NULL,
  checksum BLOB NOT NULL,
  UNIQUE (key, name, seconds, period)
) STRICT""",
    """CREATE TABLE answers (
  number INTEGER PRIMARY KEY,
  work INTEGER NOT NULL,
  answer TEXT NOT NULL,
  checksum BLOB NOT NULL,
  UNIQUE (work, number)
) STRICT""",
)
EXPERIENCE_FORMAT = SideFileFormat(
    file_name=EXPERIENCE_FILE_NAME,
    application_id=0x62726E78,  # "brnx"
    version=2,
    tables=_TABLES,
    older_tables={1: _TABLES[:-1]},
    kind="file of experience",
    delete_hint=(
        "delete .brain/evolution.db: it holds only what agents went through and the counts of"
        " attempts to learn from it, and nothing of the brain itself"
    ),
    timeout=30.0,
    synchronous="FULL",  # an answer of a model, and a count of attempts, are worth an fsync
)
