"""The Level-0 index: one line per skill, and nothing that could forge or close one.

A line is `▸ <name>: <description>`. Neither part holds a newline, a hidden code
point or a mark of the index, and the name holds no `: `, so a line parses back to
exactly one name and one description. Where there is little room (`fitting`), a line
`▹ <category>: <name>, <name>` stands for skills of which the name alone is shown, and
the last line says how many are not shown at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .. import limits
from .text import clean, fold_all

__all__ = ["IndexText", "Shown", "clean", "line", "lines", "listing", "names", "parse", "tokens"]

MARK = "▸"
NAMES_MARK = "▹"
NO_NAME = "(no name)"
NO_DESCRIPTION = "(no description)"
NO_SKILLS = "(no skills yet)"
NO_FIT = "(no skill fits this task)"
CUT = "…"
BYTES_PER_TOKEN = 4
_COLONS = re.compile(":+ ")
_COMMAS = re.compile(",+ ")
_MARKS = str.maketrans({MARK: ">", NAMES_MARK: ">"})

TokenCounter = Callable[[str], int]
"""Tells how many tokens a text takes; `tokens` is the estimate where no other is given."""


class IndexText(NamedTuple):
    """The index, how many skills it shows and how many not, and what it takes in tokens."""

    text: str
    shown: int
    left_out: int
    tokens: int


class Shown(NamedTuple):
    """A skill as a line of the index shows it; `description` is None where it stands in a list.

    `category` is "" but in a list.
    """

    name: str
    description: str | None
    category: str = ""


def line(name: str, description: str) -> str:
    """Return the line of one skill."""
    return lines([(name, description)])[0]


def lines(cards: Sequence[tuple[str, str]]) -> list[str]:
    """Return the lines of skills, given as (name, description)."""
    shown = names([name for name, _ in cards])
    descriptions = _descriptions([text for _, text in cards])
    return [
        f"{MARK} {name or NO_NAME}: {text}" for name, text in zip(shown, descriptions, strict=True)
    ]


def names(names: list[str]) -> list[str]:
    """Return names, of skills or categories, as lines show them; "" stays."""
    most = limits.MAX_NAME_CHARS
    return [
        name if name.isascii() and len(name) <= most and ": " not in name else _harmless(name)
        for name in fold_all(names)
    ]


def split(line: str) -> tuple[str, str]:
    """Undo `line`, of which two parts cannot be told apart: the name as shown, the description."""
    name, _, description = line[len(MARK) + 1 :].partition(": ")
    return name, description


def listing(category: str, names: Iterable[str]) -> str:
    """Return the line that shows skills of a category, "" for none, by their names alone.

    All are given as lines show them.
    """
    head = f"{NAMES_MARK} {category}: " if category else f"{NAMES_MARK} "
    return head + ", ".join(map(listed, names))


def listed(name: str) -> str:
    """Return a name, as a line shows it, as a list shows it: it does not look like two."""
    return _COMMAS.sub("; ", name)


def more(count: int) -> str:
    """Return the last line of an index that leaves out so many skills."""
    return f"{CUT} {count} more {'skill is' if count == 1 else 'skills are'} not shown"


def parse(text: str) -> list[Shown]:
    """Return the skills that an index shows, in its order."""
    found = []
    for line in text.split("\n"):
        mark, _, rest = line.partition(" ")
        if mark == MARK:
            name, colon, description = rest.partition(": ")
            found.append(Shown(name, description if colon else None))
        elif mark == NAMES_MARK:
            category, colon, names = rest.partition(": ")
            some = (names if colon else rest).split(", ")
            found += [Shown(name, None, category if colon else "") for name in some]
    return found


def tokens(text: str) -> int:
    """Return an estimate of the tokens of `text`: its UTF-8 bytes / 4, rounded up."""
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


def _harmless(name: str) -> str:
    """Return a name, already on one line, without what would end it early."""
    text = _COLONS.sub(" - ", name[: limits.MAX_NAME_CHARS]).translate(_MARKS)
    return " ".join(text.split()) or NO_NAME


def _descriptions(texts: list[str]) -> list[str]:
    most = limits.MAX_DESCRIPTION_CHARS
    return [
        (text if text.isascii() else text.translate(_MARKS)) or NO_DESCRIPTION
        if len(text) <= most
        else text[: most - 1].translate(_MARKS).rstrip() + CUT
        for text in fold_all(texts)
    ]
