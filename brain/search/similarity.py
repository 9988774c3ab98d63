"""How similar two skills are, by their names, descriptions and bodies.

Words count by how few skills have them, so that two skills about one rare thing are more
alike than two that both "check" and "create" something.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from .tokenizer import STOP_WORDS, split_unspaced_runs, split_words

NEAR_DUPLICATE_THRESHOLD = 0.5
"""From this likeness on skills are named as near-duplicates; see docs/selection.md."""
_NAME_WEIGHT = 0.9
"""What an equal name can make up for a description that shares nothing."""
_PREFILTER_THRESHOLD = 0.25
"""Skills that are less alike where every word counts the same are not looked at further."""
_MIN_LINE_CHARS = 12
"""Shorter lines of a body are in too many skills to tell anything."""


class SimilarityFeatures(NamedTuple):
    """What is compared of a skill: the stems of its name, those of all, lines of its body."""

    name_stems: frozenset[str]
    all_stems: frozenset[str]
    body_lines: frozenset[str]


def extract_features(
    stems: Callable[[str], list[str]], name: str, description: str, body: str
) -> SimilarityFeatures:
    """Return what is compared of a skill; `stems` cuts a text into stems."""
    title = _extract_stems(stems, name)
    lines = (" ".join(line.split()) for line in body.splitlines())
    return SimilarityFeatures(
        title,
        title | _extract_stems(stems, description),
        frozenset(line for line in lines if len(line) >= _MIN_LINE_CHARS),
    )


def _extract_stems(stems: Callable[[str], list[str]], text: str) -> frozenset[str]:
    asked = dict.fromkeys(split_words(split_unspaced_runs(text)))
    kept = [word for word in asked if word not in STOP_WORDS] or list(asked)
    return frozenset(stems(" ".join(kept)))


def rarity_weights(counts: Mapping[str, int], total: int) -> Callable[[str], float]:
    """Return the weight of a stem, where `counts` says in how many of `total` skills it is."""

    def weight(stem: str) -> float:
        return math.log(1 + (total + 1) / (counts.get(stem, 0) + 1))

    return weight


def similarity_score(
    one: SimilarityFeatures, other: SimilarityFeatures, weight: Callable[[str], float]
) -> float:
    """Return how much two skills are alike, from 0 to 1.

    It is the greatest of: what the names share, what names and descriptions share
    (both by Dice's coefficient over weighted words), and what part of the lines of the
    shorter body is in the other.
    """
    return max(
        _NAME_WEIGHT * _dice_coefficient(one.name_stems, other.name_stems, weight),
        _dice_coefficient(one.all_stems, other.all_stems, weight),
        _line_overlap(one.body_lines, other.body_lines),
    )


def is_roughly_similar(one: SimilarityFeatures, other: SimilarityFeatures) -> bool:
    """Tell cheaply whether it is worth while to weigh how much two skills are alike."""
    return similarity_score(one, other, lambda stem: 1.0) >= _PREFILTER_THRESHOLD


def _dice_coefficient(
    one: frozenset[str], other: frozenset[str], weight: Callable[[str], float]
) -> float:
    total = math.fsum(map(weight, one)) + math.fsum(map(weight, other))
    return 2 * math.fsum(map(weight, one & other)) / total if total else 0.0


def _line_overlap(one: frozenset[str], other: frozenset[str]) -> float:
    least = min(len(one), len(other))
    return len(one & other) / least if least else 0.0
