"""The table `pending`: files of the working copy still to be written."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import StoreError, printable_text
from . import checksums, field_limits
from .connection import Connection
from .protocol import PendingWrite
from .schema import typed_columns

_PENDING_COLUMNS = typed_columns("path BLOB, kind INTEGER, blob BLOB, before BLOB, checksum BLOB")


def load_pending_rows(db: Connection) -> list[PendingWrite]:
    """Return the rows by path. Raises `StoreError` (`corrupt_pending`)."""
    rows, damaged = inspect_pending_rows(db)
    for message in damaged:
        raise StoreError(
            message,
            code="corrupt_pending",
            hint="`brain doctor --repair` drops it; `brain status` then compares the folder",
        )
    return rows


def inspect_pending_rows(db: Connection) -> tuple[list[PendingWrite], list[str]]:
    """Return the intact rows by path, and messages about the others."""
    intact: list[PendingWrite] = []
    damaged: list[str] = []
    for path, *fields, expected in db.fetch_all(
        f"SELECT {_PENDING_COLUMNS} FROM pending ORDER BY path"
    ):
        row = PendingWrite(path.decode("utf-8", "surrogateescape"), *fields)
        if (fault := field_limits.find_pending_error(row)) or _pending_checksum(row) != expected:
            name = printable_text(row.path, 80)
            why = fault or "it does not fit its checksum"
            damaged.append(f"the pending write of the file {name} is damaged: {why}")
        else:
            intact.append(row)
    return intact, damaged


def put_pending_rows(db: Connection, rows: Iterable[PendingWrite]) -> None:
    """Write rows, replacing those on the same paths."""
    db.execute_many(
        "INSERT OR REPLACE INTO pending (path, kind, blob, before, checksum)"
        " VALUES (?, ?, ?, ?, ?)",
        ((*row, _pending_checksum(row)) for row in rows),
    )


def delete_pending_rows(db: Connection, paths: Iterable[str]) -> None:
    """Remove the rows on `paths`."""
    db.execute_many("DELETE FROM pending WHERE path = ?", ((path,) for path in paths))


def _pending_checksum(row: PendingWrite) -> bytes:
    return checksums.row_checksum(
        row.path.encode("utf-8", "surrogateescape"), b"%d" % row.kind, row.blob, row.before
    )
