"""The tables, their version, and the way from each older version to this one.

`objects` holds what is structured, `blobs` the content of files and the chunks
of large ones. Both are rowid tables with a unique index on the id: rows of
kilobytes keyed by random ids would make a WITHOUT ROWID table several times
slower to fill.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import StoreError, printable

if TYPE_CHECKING:
    from .connection import Connection

APPLICATION_ID = 0x62726E31
"""Marks the file as a store (SQLite header, offset 68): "brn1"."""
VERSION = 3
"""`user_version` of the stores this program writes."""

_FIRST = (
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

_SECOND = (
    """CREATE TABLE signatures (
  snapshot BLOB NOT NULL,
  key BLOB NOT NULL,
  signature BLOB NOT NULL,
  checksum BLOB NOT NULL,
  PRIMARY KEY (snapshot, key)
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE redactions (
  blob BLOB PRIMARY KEY,
  snapshot BLOB NOT NULL,
  checksum BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE merges (
  snapshot BLOB PRIMARY KEY,
  generation INTEGER NOT NULL,
  checksum BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
)

_THIRD = (
    """CREATE TABLE sheet (
  number INTEGER PRIMARY KEY,
  data BLOB NOT NULL
) STRICT""",
)

TABLES = {1: _FIRST, 2: _SECOND, 3: _THIRD}
"""Version -> the tables that it added to those of the version before; none has changed since."""


def columns(typed: str) -> str:
    """Return a column list, such as `kind INTEGER, data BLOB`, that yields these types for sure.

    A flipped bit can turn a blob into text or into nothing. Checksums find
    that, provided that what they are given is bytes.
    """
    pairs = [column.split() for column in typed.split(", ")]
    return ", ".join(f"CAST(ifnull({name}, '') AS {type}) AS {name}_" for name, type in pairs)


def added(after: int) -> list[str]:
    """Return the statements that make what a store of version `after` lacks; 0 for an empty one."""
    return [sql for version in range(after + 1, VERSION + 1) for sql in TABLES[version]]


def expected(statements: Iterable[str]) -> set[tuple[str, str, str, str | None]]:
    """Return what `sqlite_schema` says of a file that holds these tables, and nothing else."""
    rows: set[tuple[str, str, str, str | None]] = set()
    for sql in statements:
        name = sql.split()[2]
        rows.add(("table", name, name, sql))
        for number in range(sql.count("UNIQUE")):
            rows.add(("index", f"sqlite_autoindex_{name}_{number + 1}", name, None))
    return rows


def build(db: Connection) -> None:
    """Write the tables into an empty file, inside the caller's transaction."""
    for sql in added(0):
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


def compare(db: Connection, version: int) -> None:
    """Check row by row that the schema is the one of a version, and nothing more.

    Raises `StoreError` (`bad_store`) naming what is foreign: a table, a trigger, a view.
    """
    compare_tables(db, [sql for number in range(1, version + 1) for sql in TABLES[number]])


def compare_tables(db: Connection, statements: Iterable[str]) -> None:
    """Check that a file holds the tables that `statements` make; raises as `compare`."""
    right = expected(statements)
    found = db.all("SELECT type, name, tbl_name, sql FROM sqlite_schema")
    if len(found) == len(right) and set(found) == right:
        return
    foreign = sorted(f"{row[0]} {row[1]}" for row in set(found) - right)
    missing = sorted(f"{row[0]} {row[1]}" for row in right - set(found))
    what = f"has a foreign {printable(foreign[0])}" if foreign else f"lacks the {missing[0]}"
    raise StoreError(
        f"the schema of {db.name} {what}",
        hint="this file was not written by this program; do not trust it",
    )


def migrate(db: Connection) -> None:
    """Bring an older store to this version inside one transaction, all or nothing."""
    db.begin()
    try:
        for sql in added(version_of(db)):
            db.run(sql)
        db.run(f"PRAGMA user_version={VERSION}")
        compare(db, VERSION)
        db.commit()
    except BaseException:
        db.abandon()
        raise


def complete(db: Connection, version: int) -> None:
    """Let a reader see an older store as one of this version: what it lacks is empty, in memory."""
    for sql in added(version):
        db.run(sql.replace("CREATE TABLE", "CREATE TEMP TABLE", 1))
