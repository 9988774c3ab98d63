"""A cache file of what is known of cases by the blobs of their documents.

It spares reading and parsing them again in each process. The file may be deleted at any time; if
it is damaged, of another version or locked, nothing is known, and nothing is kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from ..errors import Locked, StoreError
from ..store import checksums
from ..store.connection import Connection, DatabaseLabels
from ..store.database_file import DisposableDatabase, delete_database
from ..store.schema import typed_columns

CASE_FACTS_FILE_NAME = "cases.db"
_VERSION = 1
"""Raised when what is known of a document changes."""
_LOCK_TIMEOUT = 2.0
"""Seconds to wait for another process that writes to the file."""
_COLUMNS = typed_columns("blob BLOB, data BLOB, checksum BLOB")

T = TypeVar("T")


class CaseFactsCache:
    """The file in `folder`; without one nothing is kept."""

    def __init__(self, folder: str | None) -> None:
        self._path = "" if folder is None else os.path.join(folder, CASE_FACTS_FILE_NAME)

    def read(self, blobs: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return what is known of those documents that are in the file, by blob."""
        wanted = list(blobs)
        return self._use(lambda db: _read_rows(db, wanted), {}) if wanted else {}

    def put(self, facts: Mapping[bytes, bytes]) -> None:
        """Keep what is known of documents."""
        rows = [
            (blob, data, checksums.cache_row_checksum(blob, data))
            for blob, data in sorted(facts.items())
        ]
        self._use(lambda db: _write_rows(db, rows), None)

    def _use(self, work: Callable[[Connection], T], otherwise: T) -> T:
        """Open the file for one piece of work; it may be another one by the next."""
        db = _database().open_file(self._path) if self._path else None
        if db is None:
            return otherwise
        try:
            return work(db)
        except Locked:
            return otherwise
        except StoreError:
            delete_database(self._path)
            return otherwise
        finally:
            db.close()


def _read_rows(db: Connection, blobs: list[bytes]) -> dict[bytes, bytes]:
    if db.should_scan("cases", len(blobs), len(blobs) // 2):
        rows = db.stream_rows(f"SELECT {_COLUMNS} FROM cases")
    else:
        rows = db.fetch_by_keys(f"SELECT {_COLUMNS} FROM cases WHERE blob IN ({{keys}})", blobs)
    wanted = set(blobs)
    return {
        blob: data
        for blob, data, checksum in rows
        if blob in wanted and checksums.cache_row_checksum(blob, data) == checksum
    }


def _write_rows(db: Connection, rows: list[tuple[bytes, bytes, bytes]]) -> None:
    db.begin()
    try:
        db.execute_many(
            "INSERT OR REPLACE INTO cases (blob, data, checksum) VALUES (?, ?, ?)", rows
        )
        db.commit()
    finally:
        db.roll_back()


def _database() -> DisposableDatabase:
    return DisposableDatabase(
        version=_VERSION,
        timeout=_LOCK_TIMEOUT,
        synchronous="OFF",
        labels=DatabaseLabels(
            "the cache of cases", "the cache", "the user's cache folder", "delete the file"
        ),
        create_tables=_create_tables,
    )


def _create_tables(db: Connection) -> None:
    db.execute(
        "CREATE TABLE cases (blob BLOB PRIMARY KEY, data BLOB NOT NULL, checksum BLOB NOT NULL)"
        " STRICT, WITHOUT ROWID"
    )
