"""A cache: what is known of the blobs, snapshots and trees of a brain.

It answers from what was put into it and never fails for good: trouble of its file is
raised as `Unusable`, after which its owner goes on with an empty one in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from ..errors import Locked, StoreError
from ..store import sums
from ..store.connection import Connection
from ..store.schema import columns
from . import folder as folders
from . import tables

FEW = 256
"""Up to so many cards are looked up one by one, whatever the size of the brain."""
SCAN_SHARE = 8
"""Reading all cards beats looking single ones up when at least one in this many is wanted."""
_SUM = 4

_CARD = columns("blob BLOB, data BLOB, checksum BLOB")
_ROW = columns(
    "path TEXT, generation INTEGER, snapshot BLOB, change INTEGER, version TEXT, slugs TEXT,"
    " checksum BLOB"
)
_MERGE = columns("snapshot BLOB, generation INTEGER, checksum BLOB")

P = ParamSpec("P")
T = TypeVar("T")


class Unusable(Exception):
    """The file of a cache is damaged, full, locked or gone; what it held is made anew."""


class SkillRow(NamedTuple):
    """One line in the history of a skill; change 0 added, 1 upgraded, 2 changed, 3 removed.

    `generation` is that of the snapshot.
    """

    path: str
    snapshot: bytes
    generation: int
    change: int
    version: str
    slugs: tuple[str, ...]


class Learned(NamedTuple):
    """What there is to know of a snapshot whose ancestors are known.

    `names` are further (slug, path) at which skills are found; `merge` is its generation
    if it has several parents.
    """

    snapshot: bytes
    rows: list[SkillRow]
    names: Iterable[tuple[str, str]]
    merge: int | None


def _guarded(
    method: Callable[Concatenate[Cache, P], T],
) -> Callable[Concatenate[Cache, P], T]:
    """Make trouble with the file `Unusable`."""

    @wraps(method)
    def guarded(self: Cache, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(self, *args, **kwargs)
        except (StoreError, Locked) as error:
            raise Unusable(error.message) from error

    return guarded


class Cache:
    """An open cache; `open_cache` and `in_memory` make one. Any method may raise `Unusable`.

    `folder` is where other caches of the brain may keep files, None if nowhere.
    """

    def __init__(self, db: Connection, folder: str | None) -> None:
        self._db = db
        self.folder = folder

    @property
    def is_changing(self) -> bool:
        """Whether something is being put in, by `changing`."""
        return self._db.in_transaction

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold other writers off; what is put in meanwhile is kept together or not at all."""
        if self.is_changing:
            yield
            return
        try:
            self._db.begin()
        except (StoreError, Locked) as error:
            raise Unusable(error.message) from error
        try:
            yield
            self._guarded_commit()
        finally:
            self._db.abandon()

    @_guarded
    def _guarded_commit(self) -> None:
        self._db.commit()

    @_guarded
    def cards(self, blobs: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the encoded cards that are known of SKILL.md blobs, by blob."""
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

    @_guarded
    def every_card(self) -> list[tuple[bytes, bytes]]:
        """Return (blob, encoded card) of all that is known, damaged ones too, sorted."""
        return [row[:2] for row in self._db.all(f"SELECT {_CARD} FROM cards ORDER BY blob")]

    @_guarded
    def put_cards(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep cards, given as (blob, card); sorted, so that pages are filled in order."""
        self._db.run_many(
            "INSERT OR REPLACE INTO cards (blob, data, checksum) VALUES (?, ?, ?)",
            ((blob, data, sums.of_derived(blob, data)) for blob, data in sorted(rows)),
        )

    @_guarded
    def knows(self, snapshot: bytes) -> bool:
        """Tell whether a snapshot, and so each of its ancestors, was learned."""
        return self._db.one("SELECT 1 FROM snapshots WHERE id = ?", (snapshot,)) is not None

    @_guarded
    def learn(self, found: Iterable[Learned]) -> None:
        """Keep what there is to know of snapshots; parents come before children."""
        for one in found:
            self._db.run("INSERT OR IGNORE INTO snapshots (id) VALUES (?)", (one.snapshot,))
            self._db.run_many(
                "INSERT OR REPLACE INTO history"
                " (path, generation, snapshot, change, version, slugs, checksum)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                map(_stored, one.rows),
            )
            names = {(slug, row.path) for row in one.rows for slug in row.slugs}
            if names := names.union(one.names):
                self._db.run_many(
                    "INSERT OR IGNORE INTO names (slug, path) VALUES (?, ?)", sorted(names)
                )
            if one.merge is not None:
                self._db.run(
                    "INSERT OR REPLACE INTO merges (snapshot, generation, checksum)"
                    " VALUES (?, ?, ?)",
                    (one.snapshot, one.merge, _merge_sum(one.snapshot, one.merge)),
                )

    @_guarded
    def skill_paths(self, slug: str) -> list[str]:
        """Return all unusual paths at which a skill of that slug ever was, sorted."""
        sql = f"SELECT {columns('path TEXT')} FROM names WHERE slug = ? ORDER BY path"
        return [path for (path,) in self._db.all(sql, (slug,))]

    @_guarded
    def every_name(self) -> set[tuple[str, str]]:
        """Return (slug, path) of all unusual paths of skills."""
        return set(self._db.all(f"SELECT {columns('slug TEXT, path TEXT')} FROM names"))

    @_guarded
    def skill_changes(self) -> list[tuple[str, bytes]]:
        """Return (path, snapshot) of all that is in the histories of skills."""
        return self._db.all(f"SELECT {columns('path TEXT, snapshot BLOB')} FROM history")

    @_guarded
    def history(self, path: str, version: str | None = None) -> list[SkillRow]:
        """Return the history of the skill at `path`, by generation.

        With `version`, return of it where the skill was added, and where it had that version.
        """
        sql = f"SELECT {_ROW} FROM history WHERE path = ?{{more}} ORDER BY generation, snapshot"
        if version is None:
            rows = self._db.all(sql.format(more=""), (path,))
        else:
            more = " AND (change = 0 OR version = ?)"
            rows = self._db.all(sql.format(more=more), (path, version))
        return [_loaded(row) for row in rows]

    @_guarded
    def every_row(self) -> list[SkillRow]:
        """Return the histories of all skills."""
        sql = f"SELECT {_ROW} FROM history ORDER BY path, generation, snapshot"
        return [_loaded(row) for row in self._db.all(sql)]

    @_guarded
    def merges(self) -> list[tuple[bytes, int]]:
        """Return (snapshot, generation) of all known snapshots with several parents."""
        found = []
        for snapshot, generation, checksum in self._db.all(f"SELECT {_MERGE} FROM merges"):
            if _merge_sum(snapshot, generation) != checksum:
                raise StoreError("the list of merges is damaged")
            found.append((snapshot, generation))
        return found

    @_guarded
    def sheet_note(self) -> bytes:
        """Return what was noted of the text of the index, b"" where none is kept."""
        return self._note()[_SUM:]

    @_guarded
    def sheet(self) -> tuple[bytes, list[bytes]]:
        """Return the note on the text of the index and its rows; (b"", []) if they do not fit."""
        note = self._note()
        sql = f"SELECT {columns('data BLOB')} FROM sheet ORDER BY number"
        rows = [row for (row,) in self._db.all(sql)]
        if note[:_SUM] != sums.of_rows(rows).to_bytes(_SUM, "big") or note != self._note():
            return b"", []
        return note[_SUM:], rows

    @_guarded
    def put_sheet(self, note: bytes, rows: Iterable[bytes]) -> None:
        """Keep a text of the index in place of the one before."""
        self._db.run("DELETE FROM sheet")
        self._db.run("DELETE FROM note")
        self.add_to_sheet(note, rows)

    @_guarded
    def add_to_sheet(self, note: bytes, rows: Iterable[bytes]) -> None:
        """Append rows to the text of the index, and replace its note."""
        sum = int.from_bytes(self._note()[:_SUM], "big")
        for row in rows:
            self._db.run("INSERT INTO sheet (data) VALUES (?)", (row,))
            sum = sums.of_rows([row], sum)
        self._db.run("DELETE FROM note")
        self._db.run("INSERT INTO note (data) VALUES (?)", (sum.to_bytes(_SUM, "big") + note,))

    def _note(self) -> bytes:
        found = self._db.one(f"SELECT {columns('data BLOB')} FROM note")
        return bytes(found[0]) if found else b""

    @_guarded
    def clear(self) -> None:
        """Forget everything, and leave no trace of it in any file of the cache."""
        self._db.run("PRAGMA secure_delete=ON")
        with self.changing():
            for table in tables.CONTENTS:
                self._db.run(f"DELETE FROM {table}")
        self._db.run("VACUUM")
        self._db.all("PRAGMA wal_checkpoint(TRUNCATE)")
        if self.folder is not None:
            folders.clear(self.folder, tables.NAME)

    def close(self) -> None:
        """Give the file or the memory back."""
        self._db.close()


def open_cache(
    brain: bytes,
    version: int,
    redacted: bytes = b"",
    usable: folders.Usable = folders.anywhere,
) -> Cache:
    """Open the user's cache of the brain with this id, in memory where no file can be had.

    `version` is that of how things are derived; what another one made is not used, nor is
    what was made while other blobs were `redacted` (a digest, empty for none), nor a folder
    that is not `usable`.
    """
    folder = folders.folder_of(brain, redacted, usable)
    db = tables.open_file(folder, version) if folder is not None else None
    return Cache(db, folder) if db is not None else in_memory(version, folder)


def in_memory(version: int, folder: str | None = None) -> Cache:
    """Return an empty cache that nobody else sees."""
    return Cache(tables.open_memory(version), folder)


def _stored(row: SkillRow) -> tuple[str, int, bytes, int, str, str, bytes]:
    slugs = "\n".join(row.slugs)
    return (
        row.path,
        row.generation,
        row.snapshot,
        row.change,
        row.version,
        slugs,
        _row_sum(row, slugs),
    )


def _loaded(stored: tuple[str, int, bytes, int, str, str, bytes]) -> SkillRow:
    path, generation, snapshot, change, version, slugs, checksum = stored
    names = tuple(slugs.split("\n")) if slugs else ()
    row = SkillRow(path, snapshot, generation, change, version, names)
    if _row_sum(row, slugs) != checksum:
        raise StoreError("the history of a skill is damaged")
    return row


def _row_sum(row: SkillRow, slugs: str) -> bytes:
    text = f"{row.generation} {row.change} {row.version}\n{row.path}\n{slugs}"
    return sums.of_derived(row.snapshot, text.encode("utf-8", "replace"))


def _merge_sum(snapshot: bytes, generation: int) -> bytes:
    return sums.of_derived(snapshot, b"%d" % generation)
