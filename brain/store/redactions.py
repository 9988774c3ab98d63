"""Redactions: whose content was destroyed on purpose, and which snapshot says so.

The rows stay for good, so that the content is known when it comes back, and refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..errors import Conflict, NotFound, StoreError, printable
from . import sums
from .connection import Connected, Connection
from .protocol import Kind
from .schema import columns

if TYPE_CHECKING:
    from ..objects.snapshot import Snapshot

_ROW = columns("blob BLOB, snapshot BLOB, checksum BLOB")


class RedactionReader(Connected):
    """The part of `Reader` that deals with redactions."""

    def redacted(self, blobs: Sequence[bytes]) -> dict[bytes, bytes]:
        """See `Reader.redacted`."""
        sql = f"SELECT {_ROW} FROM redactions WHERE blob IN ({{keys}})"
        return dict(_proven(*row) for row in self._db.among(sql, blobs))

    def all_redacted(self) -> dict[bytes, bytes]:
        """See `Reader.all_redacted`."""
        rows = self._db.all(f"SELECT {_ROW} FROM redactions ORDER BY blob")
        return dict(_proven(*row) for row in rows)


def note(db: Connection, blob: bytes, snapshot: bytes) -> None:
    """Note a redaction, unless there is one of that blob."""
    db.run(
        "INSERT INTO redactions (blob, snapshot, checksum) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (blob, snapshot, sums.of_fields(blob, snapshot)),
    )


def refuse(db: Connection, blobs: Iterable[bytes]) -> None:
    """Raise `Conflict` (`redacted`) if one of `blobs` was redacted."""
    found = RedactionReader(db).redacted(list(blobs))
    for blob, snapshot in found.items():
        raise unwelcome(blob, snapshot, _snapshot(db, snapshot))


def lost(db: Connection, blob: bytes) -> NotFound | None:
    """Return the error for a blob that is not here because it was redacted, else None."""
    found = RedactionReader(db).redacted([blob])
    return gone(blob, found[blob], _snapshot(db, found[blob])) if found else None


def gone(blob: bytes, snapshot: bytes, data: bytes | None) -> NotFound:
    """Return the error for reading a redacted blob; `data` is the snapshot, if it is here."""
    return NotFound(
        f"the content of blob {blob.hex()} {_words(snapshot, data)}",
        code="redacted",
        hint="it was destroyed; only its id is left",
    )


def unwelcome(blob: bytes, snapshot: bytes, data: bytes | None) -> Conflict:
    """Return the error for keeping a redacted blob again; `data` as for `gone`."""
    return Conflict(
        f"the content of blob {blob.hex()} would come back, which {_words(snapshot, data)}",
        code="redacted",
        hint="take out of the file what was redacted, or name the file in .brainignore",
    )


def _words(snapshot: bytes, data: bytes | None) -> str:
    """Say who redacted when and why, as far as that is known."""
    if data is None:
        return f"was redacted by snapshot {snapshot.hex()[:12]}"
    from datetime import UTC, datetime

    from ..objects import snapshot as snapshots

    known: Snapshot = snapshots.decode(data)
    day = datetime.fromtimestamp(known.time / 1000, UTC).date().isoformat()
    who = f" by {printable(known.author, 80)}" if known.author else ""
    why = f": {printable(known.operation[3])}" if known.operation[0] == "redact" else ""
    return f"was redacted{who} on {day}, snapshot {snapshot.hex()[:12]}{why}"


def _snapshot(db: Connection, snapshot: bytes) -> bytes | None:
    sql = f"SELECT {columns('data BLOB')} FROM objects WHERE id = ? AND kind = ?"
    row = db.one(sql, (snapshot, Kind.SNAPSHOT))
    return row[0] if row else None


def _proven(blob: bytes, snapshot: bytes, expected: bytes) -> tuple[bytes, bytes]:
    if sums.of_fields(blob, snapshot) != expected:
        raise StoreError(
            "the note of a redaction does not fit its checksum",
            code="corrupt_redaction",
            hint="restore the folder .brain from a copy",
        )
    return blob, snapshot
