"""A full-text index: keys found by the words of their texts, ranked by BM25.

SQLite FTS5 cuts texts into words, folds case and accents, and removes English endings; the
rest of a word is its stem. The texts are not stored.

The index is a file or in memory. The file is a cache and may be deleted at any time; if it
is damaged, of another version or not writable, the index is in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from ..errors import BrainError, StoreError
from . import database_file
from .connection import Connection, DatabaseLabels

FULL_TEXT_FILE_NAME = "words.db"

_INDEX_VERSION = 1
_LOCK_TIMEOUT = 2.0
"""Seconds to wait for another process that brings the file up to date."""
_MAX_CACHED_COUNTS = 10_000
"""Stems whose counts are cached in memory."""
_TOKENIZER = ("porter", "unicode61", "remove_diacritics", "2")
_INDEX_LABELS = DatabaseLabels(
    "the index of words", "the index", "the user's cache folder", "delete the file"
)

IndexedTexts = tuple[str, Sequence[str]]
"""A key and its texts, one for each column."""


class FullTextIndex:
    """An open index; `open_index` and `in_memory` make one.

    `weights` says how much the words of each text count.
    """

    def __init__(self, db: Connection, weights: Sequence[float]) -> None:
        self._db = db
        columns = [f"c{number}" for number in range(len(weights))]
        if db.fetch_all("PRAGMA user_version") != [(_INDEX_VERSION,)]:
            _create_tables(db, ", ".join(columns))
        self._insert_sql = (
            f"INSERT INTO rows (rowid, {', '.join(columns)}) VALUES ({_placeholders(columns)}, ?)"
        )
        self._rank_sql = f"bm25(rows, {', '.join(map(str, weights))})"
        self._tokenize = db.make_tokenizer(_TOKENIZER)
        self._count_cache: tuple[bytes, dict[str, int]] = b"", {}

    @property
    def state(self) -> bytes:
        """What the last `change` said the index stands for, b"" before any."""
        found = self._db.fetch_one("SELECT state FROM standing")
        return bytes(found[0]) if found else b""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold other writers off, so that `state` stays until `change` is done."""
        self._db.begin()
        try:
            yield
            self._db.commit()
        finally:
            self._db.roll_back()

    def clear(self) -> None:
        """Take out all keys; to be used while `changing`."""
        for table in ("rows", "keys", "standing"):
            self._db.execute(f"DELETE FROM {table}")

    def update(
        self, state: bytes, removed_keys: Iterable[str], added_rows: Iterable[IndexedTexts]
    ) -> None:
        """Take keys out, then put others in; to be used while `changing`."""
        for key in removed_keys:
            found = self._db.fetch_one("SELECT number FROM keys WHERE key = ?", (key,))
            if found:
                self._db.execute("DELETE FROM rows WHERE rowid = ?", found)
                self._db.execute("DELETE FROM keys WHERE number = ?", found)
        last = self._db.fetch_one("SELECT ifnull(max(number), 0) FROM keys")
        rows = list(enumerate(added_rows, 1 + (last[0] if last else 0)))
        self._db.execute_many(
            "INSERT INTO keys (number, key) VALUES (?, ?)",
            ((number, key) for number, (key, _) in rows),
        )
        self._db.execute_many(self._insert_sql, ((number, *texts) for number, (_, texts) in rows))
        self._db.execute("DELETE FROM standing")
        self._db.execute("INSERT INTO standing (state) VALUES (?)", (state,))

    def list_keys(self) -> list[str]:
        """Return all keys, sorted."""
        return [key for (key,) in self._db.fetch_all("SELECT key FROM keys ORDER BY key")]

    def count_keys(self) -> int:
        """Return how many keys there are."""
        ((total,),) = self._db.fetch_all("SELECT count(*) FROM keys")
        return int(total)

    def stem_words(self, text: str) -> list[str]:
        """Return the stems of the words of `text`, in their order."""
        return self._tokenize(text)

    def count_documents(self, stems: Sequence[str]) -> dict[str, int]:
        """Return those of `stems` that any key has, each with how many keys do.

        One search asks for some of them more than once, and a common one takes long to count.
        """
        state, cached_counts = self._count_cache
        if state != (now := self.state) or len(cached_counts) > _MAX_CACHED_COUNTS:
            cached_counts = {}
        sql = "SELECT term, doc FROM stems WHERE term IN ({keys})"
        new = [stem for stem in stems if stem not in cached_counts]
        cached_counts.update(dict.fromkeys(new, 0))
        cached_counts.update(self._db.fetch_by_keys(sql, new))
        self._count_cache = now, cached_counts
        return {stem: count for stem in stems if (count := cached_counts[stem])}

    def search(self, words: Iterable[str], limit: int) -> list[tuple[str, float]]:
        """Return the keys with any of `words` and their scores, best first.

        A negative `limit` takes all of them.
        """
        query = " OR ".join('"' + word.replace('"', '""') + '"' for word in words)
        if not query:
            return []
        rows = self._db.fetch_all(
            f"SELECT key, -score FROM (SELECT rowid AS number, {self._rank_sql} AS score FROM rows"
            " WHERE rows MATCH ? ORDER BY score LIMIT ?) JOIN keys USING (number)"
            " ORDER BY score",
            (query, limit),
        )
        return [(key, score) for key, score in rows]

    def close(self) -> None:
        """Give the file or the memory back."""
        self._db.close()


def open_memory_full_text(weights: Sequence[float]) -> FullTextIndex:
    """Return an empty index that nobody else sees."""
    return FullTextIndex(database_file.open_in_memory(FULL_TEXT_FILE_NAME, _INDEX_LABELS), weights)


def open_full_text_index(folder: str | os.PathLike[str], weights: Sequence[float]) -> FullTextIndex:
    """Return the index in `folder`, made if there is none; one in memory if that cannot be.

    A file that is damaged or of another version is replaced.
    """
    path = os.path.join(folder, FULL_TEXT_FILE_NAME)
    for _ in range(2):
        try:
            return FullTextIndex(_open_index_file(path), weights)
        except (BrainError, OSError) as error:
            if isinstance(error, OSError) or error.code not in ("bad_store", "io_error"):
                break
            with suppress(OSError):
                delete_full_text_index(folder)
    return open_memory_full_text(weights)


def delete_full_text_index(folder: str | os.PathLike[str]) -> None:
    """Delete the index in `folder`, if there is one."""
    for ending in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, FULL_TEXT_FILE_NAME + ending))


def _open_index_file(path: str) -> Connection:
    """Open the file, for its owner alone; one of another version is an error, as damage is."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    database_file.check_database_files(path, _INDEX_LABELS)
    db = database_file.open_for_writing(path, _LOCK_TIMEOUT, _INDEX_LABELS)
    try:
        if db.fetch_all("PRAGMA user_version") not in ([(0,)], [(_INDEX_VERSION,)]):
            raise StoreError("the index of words is of another version")
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")  # after a power cut it may be older, never damaged
    except BaseException:
        db.close()
        raise
    return db


def _create_tables(db: Connection, columns: str) -> None:
    db.begin()
    try:
        if db.fetch_all("PRAGMA user_version") == [(0,)]:  # else another process came first
            db.execute("CREATE TABLE standing (state BLOB NOT NULL)")
            db.execute("CREATE TABLE keys (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE)")
            db.execute(
                f"CREATE VIRTUAL TABLE rows USING fts5({columns}, content='',"
                f' contentless_delete=1, tokenize="{" ".join(_TOKENIZER)}")'
            )
            db.execute("CREATE VIRTUAL TABLE stems USING fts5vocab(rows, row)")
            db.execute(f"PRAGMA user_version={_INDEX_VERSION}")
        db.commit()
    finally:
        db.roll_back()


def _placeholders(columns: Sequence[str]) -> str:
    return ", ".join("?" * len(columns))
