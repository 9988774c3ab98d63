"""Ranking by BM25 over the names, descriptions and categories of skills.

Bodies are left out: reading them makes the first answer ten times as dear.
"""

from __future__ import annotations

from ..skills import layout
from ..store.fulltext import FullText
from .protocol import Document, Ranked
from .spelling import corrected
from .words import COMMON, MAX_TASK_CHARS, parted, words

WEIGHTS = (2.0, 1.0, 1.0)
"""Name, description, category."""
MOST_WORDS = 32
"""Words of a task that are looked up: its rarest."""
MOST_HITS = 4096
"""Words are looked up, the rarest first, until they have hit so many rows."""
MOST_CORRECTED = 4
"""Words that no skill has and that are read as mistyped ones: the first of a task."""
_EQUALS = 64
"""So many more are ranked than asked for: which of equals come first is said by their paths."""


class Bm25:
    """The `Selector` of BM25 over an index that has the `texts` of skills under their paths.

    `hits` is as `MOST_HITS`.
    """

    def __init__(self, index: FullText, hits: int = MOST_HITS) -> None:
        self._index = index
        self._hits = hits

    def rank(self, task: str, limit: int) -> list[Ranked]:
        """See `Selector.rank`."""
        found = self._index.best(
            telling(self._index, task, self._hits), limit + _EQUALS if limit > 0 else -1
        )
        best = sorted((-score, path) for path, score in found)
        ranked = [Ranked(layout.slug_of(path), -score, path) for score, path in best]
        if limit > 0:
            return ranked[:limit]
        known = {one.path for one in ranked}
        rest = [path for path in self._index.every() if path not in known]
        return ranked + [Ranked(layout.slug_of(path), 0.0, path) for path in rest]


def telling(index: FullText, text: str, most: int = MOST_HITS) -> list[str]:
    """Return the words of `text` that tell skills apart, the rarest first.

    There are as many as hit `most` rows together, but for the first.
    """
    asked = dict.fromkeys(words(parted(text[:MAX_TASK_CHARS])))
    kept = [word for word in asked if word not in COMMON] or list(asked)
    spelled: dict[str, str] = {}
    for word in kept:
        for stem in index.stems(word):
            spelled.setdefault(stem, word)
    counts = index.counts(list(spelled))
    unknown = [word for stem, word in spelled.items() if stem not in counts]
    for right in filter(None, (corrected(index, word) for word in unknown[:MOST_CORRECTED])):
        for stem in index.stems(right):
            spelled.setdefault(stem, right)
    counts = index.counts(list(spelled)) if unknown else counts
    told: dict[str, None] = {}
    hits = 0
    for count, stem in sorted((n, stem) for stem, n in counts.items()):
        hits += count
        if told and (hits > most or len(told) == MOST_WORDS):
            break
        told[spelled[stem]] = None
    return list(told)


def texts(document: Document) -> tuple[str, str, str]:
    """Return what the index has of a skill, for `WEIGHTS`."""
    slug, name = document.slug, document.name
    title = slug if words(name) == words(slug) else f"{slug} {name}"
    return parted(title), parted(document.description), document.category
