"""The keyword score: how many words of a skill's name and description are in the task.

Words are whole ("form" is not in "platform") and longer than three characters, and each
counts once however often it stands there. A skill whose category has a word in the task
gets five more. Below two nothing fits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .catalogue import Catalogue
from .protocol import Document, Ranked
from .words import MAX_TASK_CHARS, words

LEAST = 2
"""The least score that fits."""
BONUS = 5
SHORT = 3
"""Words of so many characters, or fewer, do not count."""


class _Words(NamedTuple):
    own: frozenset[str]
    category: frozenset[str]


class Keyword:
    """The `Selector` of that score."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._words: dict[str, _Words] = {}
        catalogue.admit(self)

    def follow(self, gone: Iterable[Document], came: Iterable[Document]) -> None:
        """See `Follower.follow`."""
        for document in gone:
            del self._words[document.path]
        for document in came:
            own = f"{document.name} {document.description}"
            self._words[document.path] = _Words(_counting(own), _counting(document.category))

    def rank(self, task: str, limit: int) -> list[Ranked]:
        """See `Selector.rank`."""
        asked = _counting(task[:MAX_TASK_CHARS])
        found = []
        for path, known in self._words.items():
            score = len(known.own & asked)
            if known.category and not known.category.isdisjoint(asked):
                score += BONUS
            if score >= LEAST:
                found.append((-score, path))
        found.sort()
        if limit > 0:
            del found[limit:]
        else:
            fitting = {path for _, path in found}
            found += [(0, path) for path in sorted(self._words) if path not in fitting]
        documents = self._catalogue.documents
        return [Ranked(documents[path].slug, float(-score), path) for score, path in found]


def _counting(text: str) -> frozenset[str]:
    return frozenset(word for word in words(text) if len(word) > SHORT)
