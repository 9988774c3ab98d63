"""Derived data: cards of skills and their histories, rebuilt by the caller if lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..errors import StoreError
from . import sums
from .connection import Connected, Connection
from .protocol import SkillRow
from .schema import columns

_CARD = columns("blob BLOB, data BLOB, checksum BLOB")
_PATH = columns("path TEXT")
_LOG = columns(
    "snapshot BLOB, change INTEGER, version TEXT, slugs TEXT, number INTEGER, checksum BLOB"
)

FEW = 256
"""Up to so many cards are looked up one by one, whatever the size of the brain."""
SCAN_SHARE = 8
"""Reading all cards beats looking single ones up when at least one in this many is wanted."""


class DerivedReader(Connected):
    """The part of `Reader` that deals with derived data."""

    def cards(self, blobs: Sequence[bytes]) -> dict[bytes, bytes]:
        """See `Reader.cards`."""
        if self._is_most(len(blobs)):
            wanted = set(blobs)
            rows = self._db.stream(f"SELECT {_CARD} FROM cards")
            found = [row for row in rows if row[0] in wanted]
        else:
            sql = f"SELECT {_CARD} FROM cards WHERE blob IN ({{keys}})"
            found = list(self._db.among(sql, blobs))
        return {blob: data for blob, data, sum in found if sums.of_derived(blob, data) == sum}

    def _is_most(self, wanted: int) -> bool:
        """Tell whether so many cards are so many of all that reading all is faster."""
        if wanted < FEW:  # counting all of them would cost more than looking them up
            return False
        ((total,),) = self._db.all("SELECT count(*) FROM cards")
        return wanted * SCAN_SHARE >= int(total)

    def skill_paths(self, slug: str) -> list[str]:
        """See `Reader.skill_paths`."""
        sql = f"SELECT {_PATH} FROM skill_paths WHERE slug = ? ORDER BY path"
        rows = self._db.all(sql, (slug,))
        return [path for (path,) in rows]

    def skill_changes(self) -> list[tuple[str, bytes]]:
        """See `Reader.skill_changes`."""
        return self._db.all(f"SELECT {columns('path TEXT, snapshot BLOB')} FROM skill_log")

    def skill_log(self, path: str, version: str | None = None) -> list[SkillRow]:
        """See `Reader.skill_log`."""
        sql = f"SELECT {_LOG} FROM skill_log WHERE path = ?{{more}} ORDER BY number"
        if version is None:
            rows = self._db.all(sql.format(more=""), (path,))
        else:
            more = " AND (change = 0 OR version = ?)"
            rows = self._db.all(sql.format(more=more), (path, version))
        log = []
        for expected, (snapshot, change, said, slugs, number, checksum) in enumerate(rows, 1):
            names = tuple(slugs.split("\n")) if slugs else ()
            row = SkillRow(path, snapshot, change, said, names)
            missing = version is None and number != expected
            if missing or _stored(row, number)[-1] != checksum:
                raise StoreError(
                    "the history of a skill is damaged",
                    code="corrupt_derived",
                    hint="run `brain doctor`, which builds it anew",
                )
            log.append(row)
        return log


def put_cards(db: Connection, rows: Iterable[tuple[bytes, bytes]]) -> None:
    """Keep cards; sorted, so that pages are filled one after another."""
    db.run_many(
        "INSERT OR REPLACE INTO cards (blob, data, checksum) VALUES (?, ?, ?)",
        ((blob, data, sums.of_derived(blob, data)) for blob, data in sorted(rows)),
    )


def log_skills(db: Connection, rows: Iterable[SkillRow]) -> None:
    """Append to the histories of skills, numbering each path's rows from 1."""
    new = list(rows)
    last: dict[str, int] = {}
    stored = []
    for row in new:
        last[row.path] = 1 + (last[row.path] if row.path in last else _last_number(db, row.path))
        stored.append(_stored(row, last[row.path]))
    db.run_many(
        "INSERT INTO skill_log (path, number, snapshot, change, version, slugs, checksum)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        stored,
    )
    name_skills(db, {(slug, row.path) for row in new for slug in row.slugs})


def _last_number(db: Connection, path: str) -> int:
    """Return the greatest number of a path; asked for one path, the engine looks at one row."""
    ((last,),) = db.all("SELECT ifnull(max(number), 0) FROM skill_log WHERE path = ?", (path,))
    return int(last)


def name_skills(db: Connection, pairs: Iterable[tuple[str, str]]) -> None:
    """Note paths of skills by slug; sorted, so that pages are filled one after another."""
    db.run_many("INSERT OR IGNORE INTO skill_paths (slug, path) VALUES (?, ?)", sorted(pairs))


def forget(db: Connection) -> None:
    """Drop all derived data."""
    for table in ("cards", "skill_log", "skill_paths"):
        db.run(f"DELETE FROM {table}")


def _stored(row: SkillRow, number: int) -> tuple[str, int, bytes, int, str, str, bytes]:
    slugs = "\n".join(row.slugs)
    text = f"{number} {row.change} {row.version}\n{row.path}\n{slugs}"
    checksum = sums.of_derived(row.snapshot, text.encode())
    return row.path, number, row.snapshot, row.change, row.version, slugs, checksum
