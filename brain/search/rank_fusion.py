"""Reciprocal rank fusion of several rankings (Cormack, Clarke and Büttcher 2009)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .selector import RankedSkill, Selector

RRF_K = 60
"""The greater, the less the first places count more than the next; from the paper."""
MIN_FUSION_DEPTH = 100
"""Places of each ranking that count at least."""


def fuse_rankings(rankings: Iterable[Sequence[RankedSkill]]) -> list[RankedSkill]:
    """Return one ranking: the score of a skill is the sum of 1 / (K + its place) in each."""
    scores: dict[str, float] = {}
    slugs: dict[str, str] = {}
    for ranking in rankings:
        for place, skill in enumerate(ranking, 1):
            scores[skill.path] = scores.get(skill.path, 0.0) + 1 / (RRF_K + place)
            slugs[skill.path] = skill.slug
    best = sorted(scores, key=lambda path: (-scores[path], path))
    return [RankedSkill(slugs[path], scores[path], path) for path in best]


class HybridSelector:
    """The `Selector` that fuses the rankings of others."""

    def __init__(self, parts: Sequence[Selector]) -> None:
        self._selectors = parts

    def rank(self, task: str, limit: int) -> list[RankedSkill]:
        """See `Selector.rank`."""
        if limit > 0:
            deep = max(limit, MIN_FUSION_DEPTH)
            return fuse_rankings(part.rank(task, deep) for part in self._selectors)[:limit]
        rankings = [part.rank(task, limit) for part in self._selectors]
        best = fuse_rankings(
            [skill for skill in ranking if skill.score > 0] for ranking in rankings
        )
        ranked_paths = {skill.path for skill in best}
        others = (skill for skill in rankings[0] if skill.path not in ranked_paths)
        return best + [skill._replace(score=0.0) for skill in others]
