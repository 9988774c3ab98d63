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
from .text import clean, fold

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
    return f"{MARK} {_name(name)}: {_description(description)}"


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
    rows = sorted((_name(name or slug), slug, _description(text)) for name, text, slug in cards)
    if not rows:
        return IndexText(NO_SKILLS, 0, tokens(NO_SKILLS))
    most = limits.MAX_DESCRIPTION_CHARS if limit is None else limit
    text = _lines(rows, most)
    if budget is None or tokens(text) <= budget:
        return IndexText(text, len(rows), tokens(text))
    return _within(rows, most, budget)


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


def _name(name: str) -> str:
    text = fold(name[: limits.MAX_NAME_CHARS])
    if ": " in text:
        text = _COLONS.sub(" - ", text)
    if not text.isascii():
        text = text.replace(MARK, ">")
    return text or "(no name)"


def _description(description: str) -> str:
    text = fold(description)
    if not text.isascii():
        text = text.replace(MARK, ">")
    if len(text) > limits.MAX_DESCRIPTION_CHARS:
        text = text[: limits.MAX_DESCRIPTION_CHARS - 1].rstrip() + CUT
    return text or NO_DESCRIPTION
