"""Which snapshots have several parents, and their generations: derived, rebuilt if lost."""

from __future__ import annotations

from ..errors import StoreError
from . import sums
from .connection import Connected, Connection
from .schema import columns

_ROW = columns("snapshot BLOB, generation INTEGER, checksum BLOB")


class MergeReader(Connected):
    """The part of `Reader` that deals with merges."""

    def merges(self) -> list[tuple[bytes, int]]:
        """See `Reader.merges`."""
        found = []
        for snapshot, generation, checksum in self._db.all(f"SELECT {_ROW} FROM merges"):
            if _sum(snapshot, generation) != checksum:
                raise StoreError(
                    "the list of merges is damaged",
                    code="corrupt_derived",
                    hint="run `brain doctor`, which builds it anew",
                )
            found.append((snapshot, generation))
        return found


def note(db: Connection, snapshot: bytes, generation: int) -> None:
    """Note a snapshot with several parents."""
    db.run(
        "INSERT OR REPLACE INTO merges (snapshot, generation, checksum) VALUES (?, ?, ?)",
        (snapshot, generation, _sum(snapshot, generation)),
    )


def forget(db: Connection) -> None:
    """Drop all notes."""
    db.run("DELETE FROM merges")


def _sum(snapshot: bytes, generation: int) -> bytes:
    return sums.of_derived(snapshot, b"%d" % generation)
