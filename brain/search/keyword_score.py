"""The keyword score: how many words of a skill's name and description are in the task.

Words are whole ("form" is not in "platform"), longer than three characters, and count
once. A skill whose category shares a word with the task gets five more. The least score
of a fitting skill is two.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .selector import RankedSkill, SearchDocument, SkillCatalogue
from .tokenizer import MAX_QUERY_CHARS, split_words

MIN_SCORE = 2
"""The least score that fits."""
CATEGORY_BONUS = 5
MAX_IGNORED_CHARS = 3
"""Words of at most so many characters do not count."""


class _SkillWords(NamedTuple):
    own: frozenset[str]
    category: frozenset[str]


class KeywordSelector:
    """The `Selector` by the keyword score."""

    def __init__(self, catalogue: SkillCatalogue) -> None:
        self._catalogue = catalogue
        self._words: dict[str, _SkillWords] = {}
        catalogue.subscribe(self)

    def apply_change(
        self, removed: Iterable[SearchDocument], added: Iterable[SearchDocument]
    ) -> None:
        """See `CatalogueListener.apply_change`."""
        for document in removed:
            del self._words[document.path]
        for document in added:
            own = f"{document.name} {document.description}"
            self._words[document.path] = _SkillWords(
                _scored_words(own), _scored_words(document.category)
            )

    def rank(self, task: str, limit: int) -> list[RankedSkill]:
        """See `Selector.rank`."""
        query_words = _scored_words(task[:MAX_QUERY_CHARS])
        ranked = []
        for path, words in self._words.items():
            score = len(words.own & query_words)
            if words.category and not words.category.isdisjoint(query_words):
                score += CATEGORY_BONUS
            if score >= MIN_SCORE:
                ranked.append((-score, path))
        ranked.sort()
        if limit > 0:
            del ranked[limit:]
        else:
            fitting = {path for _, path in ranked}
            ranked += [(0, path) for path in sorted(self._words) if path not in fitting]
        documents = self._catalogue.documents
        return [RankedSkill(documents[path].slug, float(-score), path) for score, path in ranked]


def _scored_words(text: str) -> frozenset[str]:
    return frozenset(word for word in split_words(text) if len(word) > MAX_IGNORED_CHARS)
