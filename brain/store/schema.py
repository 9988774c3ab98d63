"""The tables of a store, and their version.

`objects` holds structured objects, `blobs` the content of files and the chunks of large ones.
Both are rowid tables with a unique index on the id: a WITHOUT ROWID table with kilobytes under
random keys is several times slower to fill.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import StoreError, printable_text

if TYPE_CHECKING:
    from .connection import Connection

APPLICATION_ID = 0x62726E31
"""Marks the file as a store (SQLite header, offset 68): "brn1"."""
SCHEMA_VERSION = 4
"""`user_version` of the stores this program writes and reads; 1 to 3 were never released."""

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
)
"""The statements that create the tables."""


def typed_columns(typed: str) -> str:
    """Return a column list that yields the types in `typed`, such as `kind INTEGER, data BLOB`.

    A flipped bit can turn a blob into text or NULL. Checksums detect that, but need bytes.
    """
    pairs = [column.split() for column in typed.split(", ")]
    return ", ".join(f"CAST(ifnull({name}, '') AS {type}) AS {name}_" for name, type in pairs)


def expected_schema_rows(statements: Iterable[str]) -> set[tuple[str, str, str, str | None]]:
    """Return the rows of `sqlite_schema` in a file with exactly these tables."""
    rows: set[tuple[str, str, str, str | None]] = set()
    for sql in statements:
        name = sql.split()[2]
        rows.add(("table", name, name, sql))
        for number in range(sql.count("UNIQUE")):
            rows.add(("index", f"sqlite_autoindex_{name}_{number + 1}", name, None))
    return rows


def create_tables(db: Connection, tables: Iterable[str], application_id: int, version: int) -> None:
    """Write the header and tables of an empty file, inside the caller's transaction."""
    for sql in tables:
        db.execute(sql)
    db.execute(f"PRAGMA application_id={application_id}")
    db.execute(f"PRAGMA user_version={version}")


def read_header(db: Connection) -> tuple[int, int]:
    """Return the `application_id` of a file, and its version."""
    ((application_id,),) = db.fetch_all("PRAGMA application_id")
    ((version,),) = db.fetch_all("PRAGMA user_version")
    return application_id, version


def check_store_schema(db: Connection) -> None:
    """Check that a file is a store of this version, with exactly these tables.

    Raises `StoreError`: `bad_store` for another file, or one with a foreign table, trigger or
    view; `unsupported_version` for another version.
    """
    application, version = read_header(db)
    if application != APPLICATION_ID:
        raise StoreError(
            f"{db.name} is not the store of a brain",
            hint="another program wrote it: restore the folder .brain from a copy",
        )
    if version != SCHEMA_VERSION:
        raise StoreError(
            f"the store has version {version}, and this program reads version {SCHEMA_VERSION}",
            code="unsupported_version",
            hint="another release of brain wrote it: use that one, or a newer one",
        )
    check_table_schema(db, TABLES)


def check_table_schema(db: Connection, statements: Iterable[str]) -> None:
    """Check that a file holds exactly the tables that `statements` create.

    Raises `StoreError` (`bad_store`).
    """
    expected = expected_schema_rows(statements)
    rows = db.fetch_all("SELECT type, name, tbl_name, sql FROM sqlite_schema")
    if len(rows) == len(expected) and set(rows) == expected:
        return
    foreign = sorted(f"{row[0]} {row[1]}" for row in set(rows) - expected)
    missing = sorted(f"{row[0]} {row[1]}" for row in expected - set(rows))
    fault = f"has a foreign {printable_text(foreign[0])}" if foreign else f"lacks the {missing[0]}"
    raise StoreError(
        f"the schema of {db.name} {fault}",
        hint="another program wrote this file; do not trust it",
    )
