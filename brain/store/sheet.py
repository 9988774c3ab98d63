"""The sheet of the index, kept ready: derived data that is read as a whole.

A note says what it stands for, rows hold it. One sum covers all rows and stands with
the note under the seal of the facts, so also a row that a fault made vanish is missed.
"""

from __future__ import annotations

from collections.abc import Iterable

from . import facts, sums
from .connection import Connected, Connection
from .schema import columns

_SUM = 4
_ROW = columns("data BLOB")
_INSERT = "INSERT INTO sheet (data) VALUES (?)"


class SheetReader(Connected):
    """The part of `Reader` that deals with the sheet of the index."""

    def _facts(self) -> dict[str, bytes]:
        raise NotImplementedError

    def sheet_note(self) -> bytes:
        """See `Reader.sheet_note`."""
        return note_of(self._facts())

    def sheet(self) -> tuple[bytes, list[bytes]]:
        """See `Reader.sheet`."""
        while True:
            known = self._facts()
            rows = [row for (row,) in self._db.all(f"SELECT {_ROW} FROM sheet ORDER BY number")]
            if _fits(known, rows):
                return note_of(known), rows
            if self._facts() == known:  # so it was not a writer who came in between
                return b"", []


def note_of(known: dict[str, bytes]) -> bytes:
    """Return the note on the sheet, b"" if there is none."""
    return known.get(facts.SHEET, b"")[_SUM:]


def _fits(known: dict[str, bytes], rows: list[bytes]) -> bool:
    return known.get(facts.SHEET, bytes(_SUM))[:_SUM] == sums.of_rows(rows).to_bytes(_SUM, "big")


def put(db: Connection, known: dict[str, bytes], note: bytes, rows: Iterable[bytes]) -> None:
    """Replace the sheet."""
    forget(db, known)
    add(db, known, note, rows)


def add(db: Connection, known: dict[str, bytes], note: bytes, rows: Iterable[bytes]) -> None:
    """Append rows, and note what the sheet stands for now."""
    sum = int.from_bytes(known.get(facts.SHEET, b"")[:_SUM], "big")
    for row in rows:
        db.run(_INSERT, (row,))
        sum = sums.of_rows([row], sum)
    known[facts.SHEET] = sum.to_bytes(_SUM, "big") + note


def forget(db: Connection, known: dict[str, bytes]) -> None:
    """Drop the sheet."""
    if known.pop(facts.SHEET, None) is not None:
        db.run("DELETE FROM sheet")
