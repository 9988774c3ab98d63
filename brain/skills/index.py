"""The Level-0 index: one line per skill, and nothing that could forge or close one.

A line is `▸ <name>: <description>`. Neither part holds a newline, a hidden code
point or a second `▸`, and the name holds no `: `, so a line parses back to exactly
one name and one description.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from .. import limits
from ..errors import InvalidInput
from .text import clean, fold_all

__all__ = ["IndexText", "build", "clean", "line", "tokens"]

MARK = "▸"
NO_DESCRIPTION = "(no description)"
NO_SKILLS = "(no skills yet)"
CUT = "…"
BYTES_PER_TOKEN = 4
_COLONS = re.compile(":+ ")


class IndexText(NamedTuple):
    """The index, how many skills it shows, and an estimate of its tokens."""

    text: str
    shown: int
    tokens: int


def line(name: str, description: str) -> str:
    """Return the line of one skill."""
    return f"{MARK} {_names([name])[0]}: {_descriptions([description])[0]}"


def tokens(text: str) -> int:
    """Return an estimate of the tokens of `text`: its UTF-8 bytes / 4, rounded up."""
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


def build(
    cards: Iterable[tuple[str, str, str]], limit: int | None = None, budget: int | None = None
) -> IndexText:
    """Return the index of skills given as (name, description, slug), sorted by name and slug.

    `limit` is the most characters of a description that are shown. `budget` is the
    most tokens of the whole: first all descriptions are cut alike, then left out,
    then skills at the end are left out. Raises `InvalidInput` with code `bad_limit`.
    """
    if (limit is not None and limit < 0) or (budget is not None and budget < 0):
        raise InvalidInput("a limit or budget below zero", code="bad_limit")
    skills = list(cards)
    names = _names([name or slug for name, _, slug in skills])
    descriptions = _descriptions([text for _, text, _ in skills])
    rows = sorted(zip(names, (slug for _, _, slug in skills), descriptions, strict=True))
    if not rows:
        return IndexText(NO_SKILLS, 0, tokens(NO_SKILLS))
    most = limits.MAX_DESCRIPTION_CHARS if limit is None else limit
    text = _lines(rows, most)
    made = IndexText(text, len(rows), tokens(text))
    return made if budget is None or made.tokens <= budget else _within(rows, most, budget)


def _within(rows: list[tuple[str, str, str]], most: int, budget: int) -> IndexText:
    """Find the longest cut of all descriptions that fits, by bisection."""
    fitting, too_long = -1, min(most, max(len(text) for _, _, text in rows))
    while too_long - fitting > 1:
        middle = (fitting + too_long) // 2
        if tokens(_lines(rows, middle)) <= budget:
            fitting = middle
        else:
            too_long = middle
    if fitting >= 0:
        text = _lines(rows, fitting)
        return IndexText(text, len(rows), tokens(text))
    room = budget * BYTES_PER_TOKEN + 1
    shown = 0
    for name, _, _ in rows:
        room -= len(name.encode()) + len(MARK.encode()) + 2
        if room < 0:
            break
        shown += 1
    text = _lines(rows[:shown], 0)
    return IndexText(text, shown, tokens(text))


def _lines(rows: list[tuple[str, str, str]], most: int) -> str:
    if most == 0:
        return "\n".join([f"{MARK} {name}" for name, _, _ in rows])
    cut = most - 1
    return "\n".join(
        [
            f"{MARK} {name}: {text}"
            if len(text) <= most
            else f"{MARK} {name}: {text[:cut].rstrip()}{CUT}"
            for name, _, text in rows
        ]
    )


def _names(names: list[str]) -> list[str]:
    most = limits.MAX_NAME_CHARS
    return [
        name
        if name and name.isascii() and len(name) <= most and ": " not in name
        else _harmless(name)
        for name in fold_all(names)
    ]


def _harmless(name: str) -> str:
    """Return a name, already on one line, without what would end it early."""
    text = _COLONS.sub(" - ", name[: limits.MAX_NAME_CHARS]).replace(MARK, ">")
    return " ".join(text.split()) or "(no name)"


def _descriptions(texts: list[str]) -> list[str]:
    most = limits.MAX_DESCRIPTION_CHARS
    return [
        (text if text.isascii() else text.replace(MARK, ">")) or NO_DESCRIPTION
        if len(text) <= most
        else text[: most - 1].replace(MARK, ">").rstrip() + CUT
        for text in fold_all(texts)
    ]
