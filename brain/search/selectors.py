"""Rank the skills of a brain by how well they fit a task: by words, or by words and meaning.

BM25 looks at names, descriptions and categories; reading bodies makes the first answer ten times
slower. The keyword score counts the words of a skill's name and description that the task has:
whole ones ("form" is not in "platform") of more than three characters, each once; a category that
shares a word with the task adds five, and two is the least score that fits. Fusion adds scores
and not places: a word that few skills have, such as the name of a product, stands far above chance
matches in BM25, and places would not show that (Bruch, Gai and Ingber 2023).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..skills import skill_layout

if TYPE_CHECKING:
    from typing import Protocol

    from ..objects.bundle import State
    from .full_text import FullTextIndex
else:  # protocols are for type checkers only; creating them takes 3 ms
    Protocol = object


class SearchDocument(NamedTuple):
    """The metadata of a skill that selectors rank by.

    `path` is the full one of its SKILL.md, `blob` the id of its content.
    """

    path: str
    slug: str
    name: str
    description: str
    blob: bytes

    @property
    def category(self) -> str:
        """The folders above the skill's own, "" if there are none."""
        return skill_layout.category_from_path(self.path)


class RankedSkill(NamedTuple):
    """A skill and its score; a greater score is a better fit.

    Scores of different selectors are not comparable. `path` distinguishes skills of one
    slug.
    """

    slug: str
    score: float
    path: str


class Selector(Protocol):
    """One way to rank skills by how much a task needs them."""

    def rank(self, task: str, limit: int) -> list[RankedSkill]:
        """Return at most `limit` skills that fit the task, the best first.

        A `limit` of 0 or less means all skills; those that do not fit come last, with a
        score of 0.
        """


MAX_QUERY_CHARS = 64 << 10
"""Characters of a task that are read."""

_WORD_PATTERN = re.compile(r"[^\W_]+")
_UNSPACED_RUN = re.compile(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]+"
)
"""Scripts without spaces between words: kana, Han, Hangul."""

STOP_WORDS = frozenset(
    """
    a about after again all also am an and any anything are as at be because been before being
    but by can cannot could did do does doing don each else every everything for from get gets
    give go going good got had has have having help her here him his how however i if in into is
    it its just keep keeps know let like make makes making many me more most much must my need
    needs no not nothing now of off on one only onto or other our out over own per please put
    really same shall she should show so some somebody someone something still such take tell
    than that the their them then there these they thing things this those through to too under
    until up upon us use used user users uses using very via want wants was way we well were what
    when whenever where whether which while who whom whose why will with within without would
    yet you your
    """.split()
)
"""Words that carry no meaning for the choice of a skill."""


def split_words(text: str) -> list[str]:
    """Return the words of `text` in lower case; hyphens, dots and underscores separate them."""
    return _WORD_PATTERN.findall(text.casefold())


def split_unspaced_runs(text: str) -> str:
    """Return `text` with runs of scripts without spaces split into overlapping pairs."""
    return text if text.isascii() else _UNSPACED_RUN.sub(_character_bigrams, text)


def _character_bigrams(run: re.Match[str]) -> str:
    text = run[0]
    pairs = [text[at : at + 2] for at in range(max(len(text) - 1, 1))]
    return f" {' '.join(pairs)} "


MIN_SCORE = 2
"""The least score that fits."""
CATEGORY_BONUS = 5
MAX_IGNORED_CHARS = 3
"""Words of at most so many characters do not count."""


class KeywordSelector:
    """The `Selector` by the keyword score, of skills by their paths."""

    def __init__(self, documents: Mapping[str, SearchDocument]) -> None:
        self._documents = documents
        self._words: dict[SearchDocument, tuple[frozenset[str], frozenset[str]]] = {}

    def rank(self, task: str, limit: int) -> list[RankedSkill]:
        """See `Selector.rank`."""
        query_words = _scored_words(task[:MAX_QUERY_CHARS])
        documents = self._documents
        known = self._words
        self._words = {one: known.get(one) or _words_of(one) for one in documents.values()}
        ranked = []
        for document, (own, category) in self._words.items():
            score = len(own & query_words)
            if not category.isdisjoint(query_words):
                score += CATEGORY_BONUS
            if score >= MIN_SCORE:
                ranked.append((-score, document.path))
        ranked.sort()
        if limit > 0:
            del ranked[limit:]
        else:
            fitting = {path for _, path in ranked}
            ranked += [(0, path) for path in sorted(documents) if path not in fitting]
        return [RankedSkill(documents[path].slug, float(-score), path) for score, path in ranked]


def _words_of(document: SearchDocument) -> tuple[frozenset[str], frozenset[str]]:
    own = f"{document.name} {document.description}"
    return _scored_words(own), _scored_words(document.category)


def _scored_words(text: str) -> frozenset[str]:
    return frozenset(word for word in split_words(text) if len(word) > MAX_IGNORED_CHARS)


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


MIN_CORRECTED_CHARS = 5
"""Fewest letters of a corrected word; shorter ones resemble too many others."""
_MAX_CORRECTED_CHARS = 24
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def correct_word(index: FullTextIndex, word: str) -> str | None:
    """Return the word one edit from `word` whose stem most skills have, None without one.

    Ties are broken alphabetically.
    """
    if not (
        MIN_CORRECTED_CHARS <= len(word) <= _MAX_CORRECTED_CHARS
        and word.isascii()
        and word.isalpha()
    ):
        return None
    candidates = sorted(set(_edit_candidates(word)))
    stem_of = dict(zip(candidates, index.stem_words(" ".join(candidates)), strict=True))
    counts = index.count_documents(sorted(set(stem_of.values())))
    known_words = [word for word in candidates if stem_of[word] in counts]
    return min(known_words, key=lambda word: (-counts[stem_of[word]], word), default=None)


def _edit_candidates(word: str) -> Iterator[str]:
    """Yield the words one deletion, insertion, replacement or transposition away.

    The first letter is seldom wrong, and stays.
    """
    for at in range(1, len(word)):
        head, right = word[:at], word[at:]
        yield head + right[1:]
        if len(right) > 1:
            yield head + right[1] + right[0] + right[2:]
        for letter in _ALPHABET:
            yield head + letter + right[1:]
            yield head + letter + right
    for letter in _ALPHABET:
        yield word + letter


class SearchCache:
    """What a session keeps of its head: the word index, and the skills in `bundle` by their paths.

    Each part is created on first use. `keyword` and `embedding` are selectors over `documents`.
    """

    def __init__(self, index: FullTextIndex | None = None) -> None:
        self.index = index
        self.bundle: State | None = None
        self.documents: dict[str, SearchDocument] = {}
        self.keyword = KeywordSelector(self.documents)
        self.embedding: Selector | None = None


FUSION_DEPTH = 100
"""Places of each ranking that are fused; skills after them score 0."""
WORDS_WEIGHT = 0.5
"""Weight of the words, where meaning has 1; chosen with the tuning half."""


def fuse_rankings(
    by_meaning: Sequence[RankedSkill], by_words: Sequence[RankedSkill]
) -> list[RankedSkill]:
    """Return one ranking of all skills in two; the best of each gets the whole of its weight.

    The lowest cosine that is fused counts as 0, since all cosines of a model may be high.
    """
    scores: dict[str, float] = {}
    meant, worded = by_meaning[:FUSION_DEPTH], by_words[:FUSION_DEPTH]
    if meant:
        top, floor = meant[0].score, meant[-1].score
        for skill in meant:
            scores[skill.path] = (skill.score - floor) / (top - floor) if top > floor else 1.0
    for skill in worded:
        if skill.score > 0:
            share = WORDS_WEIGHT * skill.score / worded[0].score
            scores[skill.path] = scores.get(skill.path, 0.0) + share
    slugs = {skill.path: skill.slug for skill in (*by_meaning, *by_words)}
    fused = sorted(scores, key=lambda path: (-scores[path], path))
    others = [path for path in slugs if path not in scores]
    return [RankedSkill(slugs[path], scores.get(path, 0.0), path) for path in fused + others]


class HybridSelector:
    """The `Selector` that fuses a ranking by `meaning` with one by `words`."""

    def __init__(self, meaning: Selector, words: Selector) -> None:
        self._meaning = meaning
        self._words = words

    def rank(self, task: str, limit: int) -> list[RankedSkill]:
        """See `Selector.rank`."""
        depth = max(limit, FUSION_DEPTH) if limit > 0 else limit
        fused = fuse_rankings(self._meaning.rank(task, depth), self._words.rank(task, depth))
        return fused[:limit] if limit > 0 else fused
