"""Ranking by BM25 over the names, descriptions and categories of skills.

Bodies are left out: reading them makes the first answer ten times slower.
"""

from __future__ import annotations

from ..skills import skill_layout
from .full_text import FullTextIndex
from .selector import RankedSkill, SearchDocument
from .spelling import correct_word
from .tokenizer import MAX_QUERY_CHARS, STOP_WORDS, split_unspaced_runs, split_words

FIELD_WEIGHTS = (2.0, 1.0, 1.0)
"""Name, description, category."""
MAX_QUERY_WORDS = 32
"""Words of a task that are looked up, the rarest ones."""
MAX_HITS = 4096
"""Rows that the words of a task may match together; the rarest words are taken first."""
MAX_CORRECTED_WORDS = 4
"""Unknown words of a task, the first ones, that are corrected as mistyped."""
_EXTRA_FOR_TIES = 64
"""Additional skills to rank, since ties are ordered by path."""


class Bm25Selector:
    """The `Selector` by BM25 over an index of the `index_fields` of skills by their paths.

    `max_hits` is as `MAX_HITS`.
    """

    def __init__(self, index: FullTextIndex, max_hits: int = MAX_HITS) -> None:
        self._index = index
        self._max_hits = max_hits

    def rank(self, task: str, limit: int) -> list[RankedSkill]:
        """See `Selector.rank`."""
        matches = self._index.search(
            choose_query_words(self._index, task, self._max_hits),
            limit + _EXTRA_FOR_TIES if limit > 0 else -1,
        )
        best = sorted((-score, path) for path, score in matches)
        ranked = [
            RankedSkill(skill_layout.slug_from_path(path), -score, path) for score, path in best
        ]
        if limit > 0:
            return ranked[:limit]
        matched_paths = {skill.path for skill in ranked}
        unmatched = [path for path in self._index.list_keys() if path not in matched_paths]
        return ranked + [
            RankedSkill(skill_layout.slug_from_path(path), 0.0, path) for path in unmatched
        ]


def choose_query_words(index: FullTextIndex, text: str, max_hits: int = MAX_HITS) -> list[str]:
    """Return the words of `text` that distinguish skills, the rarest first.

    Together they match at most `max_hits` rows, except that there is at least one word.
    """
    query_words = dict.fromkeys(split_words(split_unspaced_runs(text[:MAX_QUERY_CHARS])))
    content_words = [word for word in query_words if word not in STOP_WORDS]
    spelled: dict[str, str] = {}
    for word in content_words or query_words:
        for stem in index.stem_words(word):
            spelled.setdefault(stem, word)
    counts = index.count_documents(list(spelled))
    unknown = [word for stem, word in spelled.items() if stem not in counts]
    for right in filter(
        None, (correct_word(index, word) for word in unknown[:MAX_CORRECTED_WORDS])
    ):
        for stem in index.stem_words(right):
            spelled.setdefault(stem, right)
    counts = index.count_documents(list(spelled)) if unknown else counts
    chosen: dict[str, None] = {}
    hits = 0
    for count, stem in sorted((n, stem) for stem, n in counts.items()):
        hits += count
        if chosen and (hits > max_hits or len(chosen) == MAX_QUERY_WORDS):
            break
        chosen[spelled[stem]] = None
    return list(chosen)


def index_fields(document: SearchDocument) -> tuple[str, str, str]:
    """Return the indexed texts of a skill, in the order of `FIELD_WEIGHTS`."""
    slug, name = document.slug, document.name
    title = slug if split_words(name) == split_words(slug) else f"{slug} {name}"
    return split_unspaced_runs(title), split_unspaced_runs(document.description), document.category
