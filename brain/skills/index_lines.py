"""The lines of the Level-0 index, one per skill; no name or description can forge a line.

A line is `▸ <name>: <description>`. Neither part holds a newline, a hidden code
point or a mark of the index, and the name holds no `: `, so a line parses back to
exactly one name and one description. Under a budget (`index_budget`), a line
`▹ <category>: <name>, <name>` lists skills by name alone, and the last line gives the
number of skills that are not shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .. import limits
from .visible_text import ELLIPSIS, fold_all_to_lines, truncate

SKILL_MARK = "▸"
NAME_LIST_MARK = "▹"
NO_NAME = "(no name)"
NO_DESCRIPTION = "(no description)"
NO_SKILLS = "(no skills yet)"
NO_MATCH = "(no skill fits this task)"
BYTES_PER_TOKEN = 4
_NAME_SEPARATORS = re.compile(":+ ")
_LIST_SEPARATORS = re.compile(",+ ")
_MARK_REPLACEMENTS = str.maketrans({SKILL_MARK: ">", NAME_LIST_MARK: ">"})

TokenCounter = Callable[[str], int]
"""Returns the tokens of a text; `estimate_tokens` is the default."""


class IndexText(NamedTuple):
    """The index, the numbers of skills that it shows and leaves out, and its size in tokens."""

    text: str
    shown: int
    left_out: int
    tokens: int


class IndexEntry(NamedTuple):
    """A skill in the index. In a list of names, `description` is None.

    `category` is "" outside lists.
    """

    name: str
    description: str | None
    category: str = ""


def format_line(name: str, description: str) -> str:
    """Return the line of one skill."""
    return format_lines([(name, description)])[0]


def format_lines(cards: Sequence[tuple[str, str]]) -> list[str]:
    """Return the lines of skills, given as (name, description)."""
    shown = format_names([name for name, _ in cards])
    descriptions = _format_descriptions([text for _, text in cards])
    return [
        f"{SKILL_MARK} {name or NO_NAME}: {text}"
        for name, text in zip(shown, descriptions, strict=True)
    ]


def format_names(names: list[str]) -> list[str]:
    """Return names, of skills or categories, in the form for lines; "" stays."""
    most = limits.MAX_SKILL_NAME_CHARS
    return [
        name if name.isascii() and len(name) <= most and ": " not in name else _escape_name(name)
        for name in fold_all_to_lines(names)
    ]


def split_line(line: str) -> tuple[str, str]:
    """Return the name, as shown, and the description of a line."""
    name, _, description = line[len(SKILL_MARK) + 1 :].partition(": ")
    return name, description


def format_name_list(category: str, names: Iterable[str]) -> str:
    """Return the line that lists the names of skills of a category, "" for none.

    Names and category are given in the form for lines.
    """
    head = f"{NAME_LIST_MARK} {category}: " if category else f"{NAME_LIST_MARK} "
    return head + ", ".join(map(escape_listed_name, names))


def escape_listed_name(name: str) -> str:
    """Return a name, in the form for lines, so that a list cannot show it as two names."""
    return _LIST_SEPARATORS.sub("; ", name)


def format_omitted_count(count: int) -> str:
    """Return the last line of an index that leaves out `count` skills."""
    return f"{ELLIPSIS} {count} more {'skill is' if count == 1 else 'skills are'} not shown"


def parse_index(text: str) -> list[IndexEntry]:
    """Return the skills that an index shows, in its order."""
    entries = []
    for line in text.split("\n"):
        mark, _, rest = line.partition(" ")
        if mark == SKILL_MARK:
            name, colon, description = rest.partition(": ")
            entries.append(IndexEntry(name, description if colon else None))
        elif mark == NAME_LIST_MARK:
            category, colon, names = rest.partition(": ")
            listed = (names if colon else rest).split(", ")
            entries += [IndexEntry(name, None, category if colon else "") for name in listed]
    return entries


def estimate_tokens(text: str) -> int:
    """Return an estimate of the tokens of `text`: its UTF-8 bytes / 4, rounded up."""
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


def _escape_name(name: str) -> str:
    """Return a name, already on one line, without separators and marks of the index."""
    text = _NAME_SEPARATORS.sub(" - ", name[: limits.MAX_SKILL_NAME_CHARS]).translate(
        _MARK_REPLACEMENTS
    )
    return " ".join(text.split()) or NO_NAME


def _format_descriptions(texts: list[str]) -> list[str]:
    most = limits.MAX_DESCRIPTION_CHARS
    return [
        (text if text.isascii() else text.translate(_MARK_REPLACEMENTS)) or NO_DESCRIPTION
        if len(text) <= most
        else truncate(text.translate(_MARK_REPLACEMENTS), most)
        for text in fold_all_to_lines(texts)
    ]
