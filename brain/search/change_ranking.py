"""Rank skills for a task as they are and with a change of one, at once.

The score is BM25, with two differences to `Bm25Selector`: the average length is fixed, and words
are counted over both versions of the changed skill. So a change moves no other skill's score, and
one ranking serves both sides. Mistyped words are not corrected.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from .bm25 import FIELD_WEIGHTS, MAX_HITS, MAX_QUERY_WORDS, index_fields
from .selector import SearchDocument
from .tokenizer import MAX_QUERY_CHARS, STOP_WORDS, split_unspaced_runs, split_words

_SATURATION, _LENGTH_SHARE, _AVERAGE_WORDS = 1.2, 0.75, 20.0
"""k1 and b of BM25, and the length of a skill at which a word counts as it is."""
MAX_RANKED = 10
"""The most skills that are ranked."""

_ChosenStem = tuple[int, str, float]
"""A stem of a task: how many skills have it, and what that is worth."""
Parts = Mapping[str, float]
"""What each stem of a skill adds to its score, before the rarity of the stem counts."""
StemWords = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentChange:
    """A skill as it is, None if it is new, and with a change; both have one path."""

    before: SearchDocument | None
    after: SearchDocument

    @property
    def is_ranked_alike(self) -> bool:
        """Whether the change leaves what is ranked as it is."""
        return self.before is not None and self.before[:4] == self.after[:4]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRanks:
    """The best skills for a task, without a change and with it."""

    before: tuple[SearchDocument, ...]
    after: tuple[SearchDocument, ...]


class ChangeIndex:
    """The words of skills by path: a `CatalogueListener`.

    `stem_words` cuts texts into stems.
    """

    def __init__(self, stem_words: StemWords) -> None:
        self._stem_words = stem_words
        self._documents: dict[str, SearchDocument] = {}
        self._postings: dict[str, dict[str, float]] = {}
        self._best: dict[str, list[float]] = {}

    def apply_change(
        self, removed: Iterable[SearchDocument], added: Iterable[SearchDocument]
    ) -> None:
        """See `CatalogueListener.apply_change`."""
        for document in removed:
            del self._documents[document.path]
            for stem in self.weigh(document):
                del self._postings[stem][document.path]
                self._best.pop(stem, None)
        for document in added:
            self._documents[document.path] = document
            for stem, part in self.weigh(document).items():
                self._postings.setdefault(stem, {})[document.path] = part
                self._best.pop(stem, None)

    def read_query(self, task: str) -> tuple[str, ...]:
        """Return the stems of a task that distinguish skills; they follow from it alone."""
        words = dict.fromkeys(split_words(split_unspaced_runs(task[:MAX_QUERY_CHARS])))
        content = [word for word in words if word not in STOP_WORDS]
        return tuple(dict.fromkeys(self._stem_words(" ".join(content or words))))

    def weigh(self, document: SearchDocument) -> dict[str, float]:
        """Return the parts of a skill."""
        counts: Counter[str] = Counter()
        length = 0
        for weight, text in zip(FIELD_WEIGHTS, index_fields(document), strict=True):
            stems = self._stem_words(text)
            length += len(stems)
            for stem in stems:
                counts[stem] += weight  # type: ignore[assignment]
        norm = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * length / _AVERAGE_WORDS)
        return {stem: n * (_SATURATION + 1) / (n + norm) for stem, n in counts.items()}

    def open_change(self, change: DocumentChange) -> ChangeRanking:
        """Return the ranking for a change of a skill that is in the index as it is, or new."""
        before = {} if change.before is None else self.weigh(change.before)
        after = before if change.is_ranked_alike else self.weigh(change.after)
        return ChangeRanking(self, change, before, after)

    def count(self, stem: str) -> int:
        """Return how many skills have a stem."""
        return len(self._postings.get(stem, ()))

    def find_parts(self, stem: str) -> Mapping[str, float]:
        """Return what a stem adds to each skill that has it, by path."""
        return self._postings.get(stem, {})

    def find_best_parts(self, stem: str) -> Sequence[float]:
        """Return the largest parts of a stem, one more than can be ranked."""
        best = self._best.get(stem)
        if best is None:
            best = heapq.nlargest(MAX_RANKED + 1, self.find_parts(stem).values())
            self._best[stem] = best
        return best

    def find_document(self, path: str) -> SearchDocument:
        """Return the skill at a path."""
        return self._documents[path]

    @property
    def total(self) -> int:
        """The number of skills."""
        return len(self._documents)


class ChangeRanking:
    """Ranks skills with one change and without it, for tasks as `ChangeIndex.read_query` reads."""

    def __init__(
        self, index: ChangeIndex, change: DocumentChange, before: Parts, after: Parts
    ) -> None:
        self._index = index
        self._change = change
        self._before = before
        self._after = after
        self._added = {} if change.is_ranked_alike else after
        self._total = index.total + (not change.is_ranked_alike)
        self._rarities: dict[str, _ChosenStem] = {}

    @property
    def stems(self) -> set[str]:
        """The stems of the changed skill, before or after."""
        return {*self._before, *self._after}

    def rank(self, query: Sequence[str], limit: int) -> ChangeRanks:
        """Return the best skills on both sides, at most `limit`, which is at most `MAX_RANKED`."""
        chosen = self._choose(query)
        scores = self._score_all(chosen)
        path = self._change.after.path
        own_before, own_after = scores.pop(path, 0.0), self._score(chosen, self._after)
        best = heapq.nsmallest(limit, ((-score, path) for path, score in scores.items()))
        others = [(score, found, self._index.find_document(found)) for score, found in best]
        sides = [
            sorted([*others, (-score, path, document)] if score else others)[:limit]
            for score, document in (
                (own_before, self._change.before or self._change.after),
                (own_after, self._change.after),
            )
        ]
        before, after = (tuple(document for _, _, document in side) for side in sides)
        return ChangeRanks(before=before, after=after)

    def may_rank(self, query: Sequence[str], limit: int) -> bool:
        """Tell whether the changed skill is among the best on either side.

        False only if it is not; this is fast, since most skills that share a word with a task are
        far from the best for it.
        """
        chosen = self._choose(query)
        own = max(self._score(chosen, self._before), self._score(chosen, self._after))
        if not own:
            return False
        for _, stem, rarity in chosen:
            best = self._index.find_best_parts(stem)
            if len(best) > limit and rarity * best[limit] > own:
                return False  # more than `limit` skills are better by this word alone
        return not self._has_better(chosen, own, limit)

    def _has_better(self, chosen: Sequence[_ChosenStem], own: float, limit: int) -> bool:
        """Tell whether so many other skills are better; True only if they are.

        The rarest stems come first. Once those left could not lift a skill above `own` by
        themselves, only skills that were met are looked at.
        """
        most = [
            rarity * max(self._index.find_best_parts(stem)[:1], default=0.0)
            for _, stem, rarity in chosen
        ]
        rest = sum(most)
        scores: dict[str, float] = {}
        number = 0
        while number < len(chosen) and rest > own:
            self._add_scores(scores, chosen[number])
            rest -= most[number]
            number += 1
        scores.pop(self._change.after.path, None)
        later = [(self._index.find_parts(stem), rarity) for _, stem, rarity in chosen[number:]]
        better = 0
        for path, score in scores.items():
            if score + rest <= own:
                continue
            total = score
            for parts, rarity in later:
                if path in parts:
                    total += rarity * parts[path]
            better += total > own
            if better == limit:
                return True
        return False

    def _choose(self, query: Sequence[str]) -> list[_ChosenStem]:
        """Return the stems that count, the rarest first."""
        known = self._rarities
        found = [known.get(stem) or self._weigh_rarity(stem) for stem in query]
        found.sort()
        hits = 0
        for number, (count, _, _) in enumerate(found):
            hits += count
            if number and (hits > MAX_HITS or number == MAX_QUERY_WORDS):
                return found[:number]
        return found

    def _weigh_rarity(self, stem: str) -> _ChosenStem:
        count = self._index.count(stem) + (stem in self._added)
        rarity = math.log(1 + (self._total - count + 0.5) / (count + 0.5)) if count else 0.0
        self._rarities[stem] = count, stem, rarity
        return self._rarities[stem]

    def _score(self, chosen: Sequence[_ChosenStem], parts: Parts) -> float:
        own = 0.0
        for _, stem, rarity in chosen:
            if stem in parts:
                own += rarity * parts[stem]
        return own

    def _score_all(self, chosen: Sequence[_ChosenStem]) -> dict[str, float]:
        scores: dict[str, float] = {}
        for stem in chosen:
            self._add_scores(scores, stem)
        return scores

    def _add_scores(self, scores: dict[str, float], chosen: _ChosenStem) -> None:
        _, stem, rarity = chosen
        for path, part in self._index.find_parts(stem).items():
            scores[path] = scores.get(path, 0.0) + rarity * part
