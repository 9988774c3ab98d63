"""The tables, their version, and the way from each older version to this one.

`objects` holds what is structured, `blobs` the content of files and the chunks
of large ones. Both are rowid tables with a unique index on the id: rows of
kilobytes keyed by random ids would make a WITHOUT ROWID table several times
slower to fill.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import StoreError, printable

if TYPE_CHECKING:
    from .connection import Connection

APPLICATION_ID = 0x62726E31
"""Marks the file as a store (SQLite header, offset 68): "brn1"."""
VERSION = 1
"""`user_version` of the stores this program writes."""

TABLES = (
    """CREATE TABLE objects (
  number INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  kind INTEGER NOT NULL,
  data BLOB NOT NULL,
  checksum BLOB NOT NULL
) STRICT""",
    """CREATE TABLE blobs (
  number INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  codec INTEGER NOT NULL,
  data BLOB NOT NULL
) STRICT""",
    """CREATE TABLE dictionaries (
  number INTEGER PRIMARY KEY,
  data BLOB NOT NULL,
  checksum BLOB NOT NULL
) STRICT""",
    """CREATE TABLE facts (
  name TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE operations (
  number INTEGER PRIMARY KEY,
  id BLOB NOT NULL,
  data BLOB NOT NULL
) STRICT""",
    """CREATE TABLE pending (
  path TEXT PRIMARY KEY,
  kind INTEGER NOT NULL,
  blob BLOB NOT NULL,
  before BLOB NOT NULL,
  checksum BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE cards (
  blob BLOB PRIMARY KEY,
  data BLOB NOT NULL,
  checksum BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE skill_log (
  path TEXT NOT NULL,
  number INTEGER NOT NULL,
  snapshot BLOB NOT NULL,
  change INTEGER NOT NULL,
  version TEXT NOT NULL,
  slugs TEXT NOT NULL,
  checksum BLOB NOT NULL,
  PRIMARY KEY (path, number)
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE skill_paths (
  slug TEXT NOT NULL,
  path TEXT NOT NULL,
  PRIMARY KEY (slug, path)
) STRICT, WITHOUT ROWID""",
)

MIGRATIONS: dict[int, Callable[[Connection], None]] = {}
"""Version n -> the function that turns a store of version n into n + 1."""


def columns(typed: str) -> str:
    """Return a column list, such as `kind INTEGER, data BLOB`, that yields these types for sure.

    A flipped bit can turn a blob into text or into nothing. Checksums find
    that, provided that what they are given is bytes.
    """
    pairs = [column.split() for column in typed.split(", ")]
    return ", ".join(f"CAST(ifnull({name}, '') AS {type}) AS {name}_" for name, type in pairs)


def _expected() -> set[tuple[str, str, str, str | None]]:
    rows: set[tuple[str, str, str, str | None]] = set()
    for sql in TABLES:
        name = sql.split()[2]
        rows.add(("table", name, name, sql))
        if "UNIQUE" in sql:
            rows.add(("index", f"sqlite_autoindex_{name}_1", name, None))
    return rows


EXPECTED = _expected()
"""What `sqlite_schema` says of a store of this version, and nothing else."""


def build(db: Connection) -> None:
    """Write the tables into an empty file, inside the caller's transaction."""
    for sql in TABLES:
        db.run(sql)
    db.run(f"PRAGMA application_id={APPLICATION_ID}")
    db.run(f"PRAGMA user_version={VERSION}")


def version_of(db: Connection) -> int:
    """Return the schema version of a store.

    Raises `StoreError`: `bad_store` if the file is not a store at all,
    `unsupported_version` if a later program wrote it.
    """
    ((application,),) = db.all("PRAGMA application_id")
    if application != APPLICATION_ID:
        raise StoreError(f"{db.name} is not the store of a brain")
    ((version,),) = db.all("PRAGMA user_version")
    if version > VERSION:
        raise StoreError(
            f"the store has version {version}, this program knows {VERSION}",
            code="unsupported_version",
            hint="a newer release wrote it; upgrade to read it",
        )
    if version < 1:
        raise StoreError(f"a store of version {version} never was")
    return int(version)


def compare(db: Connection) -> None:
    """Check row by row that the schema is the one this version creates, and nothing more.

    Raises `StoreError` (`bad_store`) naming what is foreign: a table, a trigger, a view.
    """
    found = db.all("SELECT type, name, tbl_name, sql FROM sqlite_schema")
    if len(found) == len(EXPECTED) and set(found) == EXPECTED:
        return
    foreign = sorted(f"{row[0]} {row[1]}" for row in set(found) - EXPECTED)
    missing = sorted(f"{row[0]} {row[1]}" for row in EXPECTED - set(found))
    what = f"has a foreign {printable(foreign[0])}" if foreign else f"lacks the {missing[0]}"
    raise StoreError(
        f"the schema of the store {what}",
        hint="this file was not written by this program; do not trust it",
    )


def migrate(db: Connection) -> None:
    """Bring an older store to this version inside one transaction, all or nothing."""
    db.begin()
    try:
        for version in range(version_of(db), VERSION):
            MIGRATIONS[version](db)
            db.run(f"PRAGMA user_version={version + 1}")
        compare(db)
        db.commit()
    except BaseException:
        db.abandon()
        raise
