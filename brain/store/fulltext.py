"""Full-text search: numbered rows of text in memory, ranked by BM25.

The engine (SQLite FTS5) cuts text into words, folds case and accents, and takes English
endings off; what is left of a word is called its stem here. Nothing of it is on the disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import apsw

from .connection import Connection

_TOKENIZER = ("porter", "unicode61", "remove_diacritics", "2")
_FLAGS = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_MEMORY
_SPARSE = "content='', contentless_delete=1"
"""The text itself is not kept: nobody asks for it."""


class FullText:
    """Rows `(number, text of each column)`; a column's weight is how much its words count."""

    def __init__(self, weights: Sequence[float]) -> None:
        columns = ", ".join(f"c{number}" for number in range(len(weights)))
        self._db = Connection(":memory:", _FLAGS, timeout=0, name="the index of words")
        self._db.run(
            f"CREATE VIRTUAL TABLE rows USING fts5({columns}, {_SPARSE},"
            f' tokenize="{" ".join(_TOKENIZER)}")'
        )
        self._db.run("CREATE VIRTUAL TABLE stems USING fts5vocab(rows, row)")
        self._put = f"INSERT INTO rows (rowid, {columns}) VALUES ({'?, ' * len(weights)}?)"
        self._rank = f"bm25(rows, {', '.join(map(str, weights))})"
        self._cut = self._db.tokenizer(_TOKENIZER)

    def change(self, gone: Iterable[int], rows: Iterable[Sequence[int | str]]) -> None:
        """Take rows out, and put others in, under numbers that are free then."""
        self._db.begin()
        try:
            self._db.run_many("DELETE FROM rows WHERE rowid = ?", [(number,) for number in gone])
            self._db.run_many(self._put, rows)
            self._db.commit()
        finally:
            self._db.abandon()

    def stems(self, text: str) -> list[str]:
        """Return the stems of the words of `text`, in their order."""
        return self._cut(text)

    def count(self, stem: str) -> int:
        """Return how many rows have a word of that stem."""
        found = self._db.one("SELECT doc FROM stems WHERE term = ?", (stem,))
        return int(found[0]) if found else 0

    def known(self, stems: Sequence[str]) -> list[tuple[str, int]]:
        """Return those of `stems` that any row has, each with how many rows do."""
        return list(self._db.among("SELECT term, doc FROM stems WHERE term IN ({keys})", stems))

    def best(self, words: Iterable[str], limit: int) -> list[tuple[int, float]]:
        """Return the rows with any of `words` as (number, score), best first.

        A negative `limit` takes all of them.
        """
        query = " OR ".join('"' + word.replace('"', '""') + '"' for word in words)
        if not query:
            return []
        rows = self._db.all(
            f"SELECT rowid, {self._rank} AS score FROM rows WHERE rows MATCH ?"
            " ORDER BY score LIMIT ?",
            (query, limit),
        )
        return [(number, -score) for number, score in rows]

    def close(self) -> None:
        """Give the memory back."""
        self._db.close()
