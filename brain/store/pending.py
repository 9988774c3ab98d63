"""Files of the work tree that have yet to be written; usually there are none."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import StoreError, printable
from . import bounds, sums
from .connection import Connection
from .protocol import Pending
from .schema import columns

_ROW = columns("path BLOB, kind INTEGER, blob BLOB, before BLOB, checksum BLOB")


def load(db: Connection) -> list[Pending]:
    """Return the rows by path. Raises `StoreError` (`corrupt_pending`)."""
    found, damaged = load_sound(db)
    for problem in damaged:
        raise StoreError(
            problem,
            code="corrupt_pending",
            hint="`brain doctor --repair` drops it; `brain status` then compares the folder",
        )
    return found


def load_sound(db: Connection) -> tuple[list[Pending], list[str]]:
    """Return the rows by path, and what is wrong with the others."""
    found: list[Pending] = []
    damaged: list[str] = []
    for path, *fields, expected in db.all(f"SELECT {_ROW} FROM pending ORDER BY path"):
        row = Pending(path.decode("utf-8", "surrogateescape"), *fields)
        if (wrong := bounds.of_pending(row)) or _checksum(row) != expected:
            name = printable(row.path, 80)
            why = wrong or "it does not fit its checksum"
            damaged.append(f"the note that the file {name} has yet to be written is damaged: {why}")
        else:
            found.append(row)
    return found, damaged


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
    return sums.of_fields(
        row.path.encode("utf-8", "surrogateescape"), b"%d" % row.kind, row.blob, row.before
    )
