"""How much two skills are alike, by their names, descriptions and bodies.

Words count by how few skills have them, so that two skills about one rare thing are more
alike than two that both "check" and "create" something.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from .words import COMMON, parted, words

ALIKE = 0.5
"""From this likeness on skills are named as near-duplicates; see docs/selection.md."""
_NAME_ALONE = 0.9
"""What an equal name can make up for a description that shares nothing."""
_ROUGHLY = 0.25
"""Skills that are less alike where every word counts the same are not looked at further."""
_LEAST_LINE = 12
"""Shorter lines of a body are in too many skills to tell anything."""


class Face(NamedTuple):
    """What is compared of a skill: the stems of its name, those of all, lines of its body."""

    name: frozenset[str]
    all: frozenset[str]
    lines: frozenset[str]


def face(stems: Callable[[str], list[str]], name: str, description: str, body: str) -> Face:
    """Return what is compared of a skill; `stems` cuts a text into stems."""
    title = _stems(stems, name)
    lines = (" ".join(line.split()) for line in body.splitlines())
    return Face(
        title,
        title | _stems(stems, description),
        frozenset(line for line in lines if len(line) >= _LEAST_LINE),
    )


def _stems(stems: Callable[[str], list[str]], text: str) -> frozenset[str]:
    asked = dict.fromkeys(words(parted(text)))
    kept = [word for word in asked if word not in COMMON] or list(asked)
    return frozenset(stems(" ".join(kept)))


def rarity(counts: Mapping[str, int], total: int) -> Callable[[str], float]:
    """Return the weight of a stem, where `counts` says in how many of `total` skills it is."""

    def weight(stem: str) -> float:
        return math.log(1 + (total + 1) / (counts.get(stem, 0) + 1))

    return weight


def likeness(one: Face, other: Face, weight: Callable[[str], float]) -> float:
    """Return how much two skills are alike, from 0 to 1.

    It is the greatest of: what the names share, what names and descriptions share
    (both by Dice's coefficient over weighted words), and what part of the lines of the
    shorter body is in the other.
    """
    return max(
        _NAME_ALONE * _shared(one.name, other.name, weight),
        _shared(one.all, other.all, weight),
        _lines(one.lines, other.lines),
    )


def roughly(one: Face, other: Face) -> bool:
    """Tell cheaply whether it is worth while to weigh how much two skills are alike."""
    return likeness(one, other, lambda stem: 1.0) >= _ROUGHLY


def _shared(one: frozenset[str], other: frozenset[str], weight: Callable[[str], float]) -> float:
    total = math.fsum(map(weight, one)) + math.fsum(map(weight, other))
    return 2 * math.fsum(map(weight, one & other)) / total if total else 0.0


def _lines(one: frozenset[str], other: frozenset[str]) -> float:
    least = min(len(one), len(other))
    return len(one & other) / least if least else 0.0
