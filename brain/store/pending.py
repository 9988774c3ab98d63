"""Files of the work tree that have yet to be written; usually there are none."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import StoreError
from . import sums
from .connection import Connection
from .protocol import Pending
from .schema import columns

_ROW = columns("path TEXT, kind INTEGER, blob BLOB, before BLOB, checksum BLOB")


def load(db: Connection) -> list[Pending]:
    """Return the rows by path. Raises `StoreError` (`corrupt_pending`)."""
    found = []
    for *fields, expected in db.all(f"SELECT {_ROW} FROM pending ORDER BY path"):
        row = Pending._make(fields)
        if _checksum(row) != expected:
            raise StoreError(
                "the note of a file that has yet to be written is damaged",
                code="corrupt_pending",
                hint="run `brain doctor`, then `brain status` to compare the folder",
            )
        found.append(row)
    return found


def note(db: Connection, rows: Iterable[Pending]) -> None:
    """Write rows, replacing those on the same paths."""
    db.run_many(
        "INSERT OR REPLACE INTO pending (path, kind, blob, before, checksum)"
        " VALUES (?, ?, ?, ?, ?)",
        ((*row, _checksum(row)) for row in rows),
    )


def drop(db: Connection, paths: Iterable[str]) -> None:
    """Remove the rows on `paths`."""
    db.run_many("DELETE FROM pending WHERE path = ?", ((path,) for path in paths))


def _checksum(row: Pending) -> bytes:
    return sums.of_fields(row.path.encode(), b"%d" % row.kind, row.blob, row.before)
