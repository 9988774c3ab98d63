"""A full-text index: keys found by the words of their texts, ranked by BM25.

SQLite FTS5 cuts texts into words, folds case and accents, and removes English endings; the
rest of a word is its stem. The texts are not stored.

Its tables are in the user's cache, beside other derived data, or in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from ..store.connection import Connection, FileFormat
from ..store.database import open_in_memory

TABLES = ("stems", "rows", "keys", "standing")
"""The tables of an index, in the order in which they can be dropped."""
_MAX_CACHED_COUNTS = 10_000
"""Stems whose counts are cached in memory."""
_TOKENIZER = ("porter", "unicode61", "remove_diacritics", "2")
_INDEX = FileFormat(
    file_name="index",
    noun="an index",
    label="the index of words",
    content_label="the index",
    folder="the user's cache folder",
    damaged="delete the file",
    application_id=0,
    version=0,
    tables=(),
    timeout=0,
)

IndexedTexts = tuple[str, Sequence[str]]
"""A key and its texts, one for each column."""


class FullTextIndex:
    """An index in an open database, where its tables are created if they are missing.

    `weights` are the weights of words in each text.
    """

    def __init__(self, db: Connection, weights: Sequence[float]) -> None:
        self._db = db
        places = ", ".join("?" * len(weights))
        self._insert_sql = f"INSERT INTO rows (rowid, {_columns(weights)}) VALUES (?, {places})"
        self._rank_sql = f"bm25(rows, {', '.join(map(str, weights))})"
        self._tokenize = db.make_tokenizer(_TOKENIZER)
        self._count_cache: tuple[bytes, dict[str, int]] = b"", {}
        if not self._has_tables():
            with self.transaction():
                if not self._has_tables():  # else another process was first
                    _create_tables(_columns(weights), db)

    def _has_tables(self) -> bool:
        return bool(self._db.fetch_all("SELECT 1 FROM sqlite_schema WHERE name = ?", TABLES[-1:]))

    @property
    def state(self) -> bytes:
        """The state given to the last `update`, b"" before any."""
        row = self._db.fetch_one("SELECT state FROM standing")
        return bytes(row[0]) if row else b""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Exclude other writers, so that `state` cannot change before `update`."""
        self._db.begin()
        try:
            yield
            self._db.commit()
        finally:
            self._db.roll_back()

    def clear(self) -> None:
        """Remove all keys, inside a `transaction`."""
        for table in ("rows", "keys", "standing"):
            self._db.execute(f"DELETE FROM {table}")

    def update(
        self, state: bytes, removed_keys: Iterable[str], added_rows: Iterable[IndexedTexts]
    ) -> None:
        """Remove keys, then add others, inside a `transaction`."""
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
        """Return the stems that occur, each with the number of its keys.

        One search repeats some of them, and counting a common one is slow, so counts are cached.
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

        A negative `limit` means no limit.
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


def open_memory_full_text(weights: Sequence[float]) -> FullTextIndex:
    """Return an empty index in memory."""
    return FullTextIndex(open_in_memory(_INDEX), weights)


def _create_tables(columns: str, db: Connection) -> None:
    db.execute("CREATE TABLE standing (state BLOB NOT NULL)")
    db.execute("CREATE TABLE keys (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE)")
    db.execute(
        f"CREATE VIRTUAL TABLE rows USING fts5({columns}, content='',"
        f' contentless_delete=1, tokenize="{" ".join(_TOKENIZER)}")'
    )
    db.execute("CREATE VIRTUAL TABLE stems USING fts5vocab(rows, row)")


def _columns(weights: Sequence[float]) -> str:
    return ", ".join(f"c{number}" for number in range(len(weights)))
