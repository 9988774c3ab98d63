"""Fuses a ranking by meaning with one by words, as a weighted sum of their scores.

Scores are used, not places: a word that few skills have, such as the name of a product, stands far
above chance matches in BM25, and places would not show that (Bruch, Gai and Ingber 2023).
"""

from __future__ import annotations

from collections.abc import Sequence

from .selector import RankedSkill, Selector

FUSION_DEPTH = 100
"""Places of each ranking that are fused; skills after them score 0."""
WORDS_WEIGHT = 0.5
"""Weight of the words, where meaning has 1; chosen with the tuning half (docs/selection.md)."""


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
