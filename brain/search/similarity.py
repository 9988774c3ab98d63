"""How similar two skills are, by their names, descriptions and bodies.

Words are weighted by rarity, so that two skills about one rare subject are more similar
than two that both "check" and "create" something.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from .selectors import STOP_WORDS, split_unspaced_runs, split_words

NEAR_DUPLICATE_THRESHOLD = 0.5
"""Least similarity of near-duplicates; docs/guides/teams.md has what it finds."""
_NAME_WEIGHT = 0.9
"""The similarity of two skills that share only their name."""
_PREFILTER_THRESHOLD = 0.25
"""Skills less similar than this with equal weights are not compared further."""
_MIN_LINE_CHARS = 12
"""Shorter lines of a body are in too many skills to be significant."""


class SimilarityFeatures(NamedTuple):
    """Stems of a skill's name, stems of name and description, and lines of its body."""

    name_stems: frozenset[str]
    all_stems: frozenset[str]
    body_lines: frozenset[str]


def extract_features(
    stems: Callable[[str], list[str]], name: str, description: str, body: str
) -> SimilarityFeatures:
    """Return the features of a skill; `stems` splits a text into stems."""
    title = _extract_stems(stems, name)
    lines = (" ".join(line.split()) for line in body.splitlines())
    return SimilarityFeatures(
        title,
        title | _extract_stems(stems, description),
        frozenset(line for line in lines if len(line) >= _MIN_LINE_CHARS),
    )


def _extract_stems(stems: Callable[[str], list[str]], text: str) -> frozenset[str]:
    words = dict.fromkeys(split_words(split_unspaced_runs(text)))
    content_words = [word for word in words if word not in STOP_WORDS]
    return frozenset(stems(" ".join(content_words or words)))


def rarity_weights(counts: Mapping[str, int], total: int) -> Callable[[str], float]:
    """Return a function from stems to weights; `counts` of `total` skills have each stem."""

    def weight(stem: str) -> float:
        return math.log(1 + (total + 1) / (counts.get(stem, 0) + 1))

    return weight


def similarity_score(
    one: SimilarityFeatures, other: SimilarityFeatures, weight: Callable[[str], float]
) -> float:
    """Return the similarity of two skills, from 0 to 1.

    It is the greatest of the similarity of names, that of names and descriptions (both
    Dice's coefficient over weighted stems), and the share of the lines of the shorter
    body that the other one has.
    """
    return max(
        _NAME_WEIGHT * _dice_coefficient(one.name_stems, other.name_stems, weight),
        _dice_coefficient(one.all_stems, other.all_stems, weight),
        _line_overlap(one.body_lines, other.body_lines),
    )


def is_roughly_similar(one: SimilarityFeatures, other: SimilarityFeatures) -> bool:
    """Tell cheaply whether two skills may be similar."""
    return similarity_score(one, other, lambda stem: 1.0) >= _PREFILTER_THRESHOLD


def _dice_coefficient(
    one: frozenset[str], other: frozenset[str], weight: Callable[[str], float]
) -> float:
    total = math.fsum(map(weight, one)) + math.fsum(map(weight, other))
    return 2 * math.fsum(map(weight, one & other)) / total if total else 0.0


def _line_overlap(one: frozenset[str], other: frozenset[str]) -> float:
    least = min(len(one), len(other))
    return len(one & other) / least if least else 0.0
