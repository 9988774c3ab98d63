"""Full-text search: keys found by the words of a few texts each, ranked by BM25.

The engine (SQLite FTS5) cuts texts into words, folds case and accents, and takes English
endings off; what is left of a word is called its stem here. Texts themselves are not kept.

The index is in a file of its own or in memory. The file is a cache: it may be deleted at
any time, and whoever finds it damaged, of another version or not to be written works in
memory instead. `state` says what it stands for.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from ..errors import BrainError, StoreError
from . import dbfile
from .connection import Connection, Told

NAME = "words.db"

_VERSION = 1
_TIMEOUT = 2.0
"""Seconds to wait for another process that brings the file up to date."""
_MOST_COUNTED = 10_000
"""Stems whose counts are kept at hand."""
_TOKENIZER = ("porter", "unicode61", "remove_diacritics", "2")
_TOLD = Told("the index of words", "the index", "the user's cache folder", "delete the file")

Row = tuple[str, Sequence[str]]
"""A key and its texts, one for each column."""


class FullText:
    """An open index; `open_index` and `in_memory` make one.

    `weights` says how much the words of each text count.
    """

    def __init__(self, db: Connection, weights: Sequence[float]) -> None:
        self._db = db
        columns = [f"c{number}" for number in range(len(weights))]
        if db.all("PRAGMA user_version") != [(_VERSION,)]:
            _build(db, ", ".join(columns))
        self._put = f"INSERT INTO rows (rowid, {', '.join(columns)}) VALUES ({_marks(columns)}, ?)"
        self._rank = f"bm25(rows, {', '.join(map(str, weights))})"
        self._cut = db.tokenizer(_TOKENIZER)
        self._counted: tuple[bytes, dict[str, int]] = b"", {}

    @property
    def state(self) -> bytes:
        """What the last `change` said the index stands for, b"" before any."""
        found = self._db.one("SELECT state FROM standing")
        return bytes(found[0]) if found else b""

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold other writers off, so that `state` stays until `change` is done."""
        self._db.begin()
        try:
            yield
            self._db.commit()
        finally:
            self._db.abandon()

    def clear(self) -> None:
        """Take out all keys; to be used while `changing`."""
        for table in ("rows", "keys", "standing"):
            self._db.run(f"DELETE FROM {table}")

    def change(self, state: bytes, gone: Iterable[str], came: Iterable[Row]) -> None:
        """Take keys out, then put others in; to be used while `changing`."""
        for key in gone:
            found = self._db.one("SELECT number FROM keys WHERE key = ?", (key,))
            if found:
                self._db.run("DELETE FROM rows WHERE rowid = ?", found)
                self._db.run("DELETE FROM keys WHERE number = ?", found)
        last = self._db.one("SELECT ifnull(max(number), 0) FROM keys")
        rows = list(enumerate(came, 1 + (last[0] if last else 0)))
        self._db.run_many(
            "INSERT INTO keys (number, key) VALUES (?, ?)",
            ((number, key) for number, (key, _) in rows),
        )
        self._db.run_many(self._put, ((number, *texts) for number, (_, texts) in rows))
        self._db.run("DELETE FROM standing")
        self._db.run("INSERT INTO standing (state) VALUES (?)", (state,))

    def every(self) -> list[str]:
        """Return all keys, sorted."""
        return [key for (key,) in self._db.all("SELECT key FROM keys ORDER BY key")]

    def total(self) -> int:
        """Return how many keys there are."""
        ((total,),) = self._db.all("SELECT count(*) FROM keys")
        return int(total)

    def stems(self, text: str) -> list[str]:
        """Return the stems of the words of `text`, in their order."""
        return self._cut(text)

    def counts(self, stems: Sequence[str]) -> dict[str, int]:
        """Return those of `stems` that any key has, each with how many keys do.

        One search asks for some of them more than once, and a common one takes long to count.
        """
        state, known = self._counted
        if state != (now := self.state) or len(known) > _MOST_COUNTED:
            known = {}
        sql = "SELECT term, doc FROM stems WHERE term IN ({keys})"
        new = [stem for stem in stems if stem not in known]
        known.update(dict.fromkeys(new, 0))
        known.update(self._db.among(sql, new))
        self._counted = now, known
        return {stem: count for stem in stems if (count := known[stem])}

    def best(self, words: Iterable[str], limit: int) -> list[tuple[str, float]]:
        """Return the keys with any of `words` and their scores, best first.

        A negative `limit` takes all of them.
        """
        query = " OR ".join('"' + word.replace('"', '""') + '"' for word in words)
        if not query:
            return []
        rows = self._db.all(
            f"SELECT key, -score FROM (SELECT rowid AS number, {self._rank} AS score FROM rows"
            " WHERE rows MATCH ? ORDER BY score LIMIT ?) JOIN keys USING (number)"
            " ORDER BY score",
            (query, limit),
        )
        return [(key, score) for key, score in rows]

    def close(self) -> None:
        """Give the file or the memory back."""
        self._db.close()


def in_memory(weights: Sequence[float]) -> FullText:
    """Return an empty index that nobody else sees."""
    return FullText(dbfile.in_memory(NAME, _TOLD), weights)


def open_index(folder: str | os.PathLike[str], weights: Sequence[float]) -> FullText:
    """Return the index in `folder`, made if there is none; one in memory if that cannot be.

    A file that is damaged or of another version is replaced.
    """
    path = os.path.join(folder, NAME)
    for _ in range(2):
        try:
            return FullText(_opened(path), weights)
        except (BrainError, OSError) as error:
            if isinstance(error, OSError) or error.code not in ("bad_store", "io_error"):
                break
            with suppress(OSError):
                remove(folder)
    return in_memory(weights)


def remove(folder: str | os.PathLike[str]) -> None:
    """Delete the index in `folder`, if there is one."""
    for ending in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, NAME + ending))


def _opened(path: str) -> Connection:
    """Open the file, for its owner alone; one of another version is an error, as damage is."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    dbfile.inspect(path, _TOLD)
    db = dbfile.writable(path, _TIMEOUT, _TOLD)
    try:
        if db.all("PRAGMA user_version") not in ([(0,)], [(_VERSION,)]):
            raise StoreError("the index of words is of another version")
        db.run("PRAGMA journal_mode=WAL")
        db.run("PRAGMA synchronous=NORMAL")  # after a power cut it may be older, never damaged
    except BaseException:
        db.close()
        raise
    return db


def _build(db: Connection, columns: str) -> None:
    db.begin()
    try:
        if db.all("PRAGMA user_version") == [(0,)]:  # else another process came first
            db.run("CREATE TABLE standing (state BLOB NOT NULL)")
            db.run("CREATE TABLE keys (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE)")
            db.run(
                f"CREATE VIRTUAL TABLE rows USING fts5({columns}, content='',"
                f' contentless_delete=1, tokenize="{" ".join(_TOKENIZER)}")'
            )
            db.run("CREATE VIRTUAL TABLE stems USING fts5vocab(rows, row)")
            db.run(f"PRAGMA user_version={_VERSION}")
        db.commit()
    finally:
        db.abandon()


def _marks(columns: Sequence[str]) -> str:
    return ", ".join("?" * len(columns))
