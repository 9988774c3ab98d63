"""Ranking by BM25 over names and descriptions, in an index of words that follows changes.

Bodies are left out: reading them makes the first answer ten times as dear, and on the
labelled tasks of docs/selection.md they find nothing more.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..store.fulltext import FullText
from .catalogue import Catalogue
from .protocol import Document, Ranked
from .words import COMMON, MAX_TASK_CHARS, parted, words

WEIGHTS = (2.0, 1.0, 1.0)
"""Name, description, category."""
MOST_WORDS = 32
"""Words of a task that are looked up: its rarest."""
MOST_HITS = 8192
"""Words are looked up, the rarest first, until so many rows have been hit by them."""
_EQUALS = 64
"""So many more are ranked than asked for: which of equals come first is said by their paths."""


class Bm25:
    """The `Selector` of BM25."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._index = FullText(WEIGHTS)
        self._numbers: dict[str, int] = {}
        self._paths: dict[int, str] = {}
        self._next = 1
        catalogue.admit(self)

    def follow(self, gone: Iterable[Document], came: Iterable[Document]) -> None:
        """See `Follower.follow`."""
        old = [self._numbers.pop(document.path) for document in gone]
        rows: list[tuple[int, str, str, str]] = []
        for number in old:
            del self._paths[number]
        for document in came:
            number = self._next
            self._next += 1
            self._numbers[document.path] = number
            self._paths[number] = document.path
            rows.append((number, *_columns(document)))
        self._index.change(old, rows)

    def rank(self, task: str, limit: int) -> list[Ranked]:
        """See `Selector.rank`."""
        found = self._index.best(self.telling(task), limit + _EQUALS if limit > 0 else -1)
        documents = self._catalogue.documents
        scored = sorted((-score, self._paths[number]) for number, score in found)
        best = [Ranked(documents[path].slug, -score, path) for score, path in scored]
        return self._catalogue.filled(best, limit)

    def telling(self, text: str) -> list[str]:
        """Return the words of `text` that tell skills apart, the rarest first."""
        asked = dict.fromkeys(words(parted(text[:MAX_TASK_CHARS])))
        kept = [word for word in asked if word not in COMMON] or list(asked)
        counted: dict[str, tuple[int, str]] = {}
        for word in kept:
            for stem in self._index.stems(word)[:1]:
                if stem not in counted:
                    counted[stem] = (self._index.count(stem), word)
        told: list[str] = []
        hits = 0
        for count, word in sorted(counted.values()):
            hits += count
            if told and (hits > MOST_HITS or len(told) == MOST_WORDS):
                break
            if count:
                told.append(word)
        return told


def _columns(document: Document) -> tuple[str, str, str]:
    slug, name = document.slug, document.name
    title = slug if words(name) == words(slug) else f"{slug} {name}"
    return parted(title), parted(document.description), document.category
