"""The lines of the Level-0 index, one per skill; no name or description can forge a line.

A line is `▸ <address>: <description>`, or `▸ <address> (<name>): <description>` if the
skill declares a name that is not its slug. The address opens the skill (`skill_address`).
No part holds a newline, a hidden code point or a mark of the index; the address holds no
` (` and the name no `: `, so a line parses back to one address, name and description.
Under a budget (`index_budget`), a line `▹ <category>: <address>, <address>` lists skills by
address alone, and the last line gives the number of skills that are not shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from .. import limits
from ..named_tuple import NamedTuple
from .visible_text import ELLIPSIS, fold_all_to_lines, truncate

SKILL_MARK = "▸"
NAME_LIST_MARK = "▹"
NO_DESCRIPTION = "(no description)"
NO_SKILLS = "(no skills yet)"
NO_MATCH = "(no skill fits this task)"
BYTES_PER_TOKEN = 4
_NAME_SEPARATORS = re.compile(":+ ")
_NAME_START = " ("
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
    """A skill in the index. In a list of addresses, `description` is None.

    `name` is "" if it is the slug, `category` is "" outside lists.
    """

    address: str
    name: str
    description: str | None
    category: str = ""


def format_line(address: str, name: str, description: str) -> str:
    """Return the line of one skill."""
    return format_lines([(address, name, description)])[0]


def format_lines(cards: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return the lines of skills, given as (address, declared name, description)."""
    heads = format_heads([(address, name) for address, name, _ in cards])
    descriptions = _format_descriptions([text for *_, text in cards])
    return [f"{SKILL_MARK} {head}: {text}" for head, text in zip(heads, descriptions, strict=True)]


def format_heads(named: Sequence[tuple[str, str]]) -> list[str]:
    """Return what stands before each description: the address, and the name if it has one."""
    shown = format_names([name for _, name in named])
    return [
        f"{address}{_NAME_START}{name})" if name else address
        for (address, _), name in zip(named, shown, strict=True)
    ]


def differing_name(slug: str, name: str) -> str:
    """Return the declared name of a skill for its line, "" if it is the slug."""
    return "" if name == slug else name


def address_in_head(head: str) -> str:
    """Return the address in what stands before a description."""
    return head.partition(_NAME_START)[0]


def format_names(names: list[str]) -> list[str]:
    """Return names, of skills or categories, in the form for lines; "" stays."""
    most = limits.MAX_SKILL_NAME_CHARS
    return [
        name if name.isascii() and len(name) <= most and ": " not in name else _escape_name(name)
        for name in fold_all_to_lines(names)
    ]


def split_line(line: str) -> tuple[str, str]:
    """Return the head, that is address and name, and the description of a line."""
    head, _, description = line[len(SKILL_MARK) + 1 :].partition(": ")
    return head, description


def format_name_list(category: str, addresses: Iterable[str]) -> str:
    """Return the line that lists the skills of a category, "" for none, by their addresses.

    The category is given in the form for lines.
    """
    head = f"{NAME_LIST_MARK} {category}: " if category else f"{NAME_LIST_MARK} "
    return head + ", ".join(addresses)


def format_omitted_count(count: int) -> str:
    """Return the last line of an index that leaves out `count` skills."""
    return f"{ELLIPSIS} {count} more {'skill is' if count == 1 else 'skills are'} not shown"


def parse_index(text: str) -> list[IndexEntry]:
    """Return the skills that an index shows, in its order."""
    entries = []
    for line in text.split("\n"):
        mark, _, rest = line.partition(" ")
        if mark == SKILL_MARK:
            head, colon, description = rest.partition(": ")
            address = address_in_head(head)
            name = head[len(address) + len(_NAME_START) : -1]
            entries.append(IndexEntry(address, name, description if colon else None))
        elif mark == NAME_LIST_MARK:
            category, colon, listed = rest.partition(": ")
            addresses = (listed if colon else rest).split(", ")
            shown = category if colon else ""
            entries += [IndexEntry(address, "", None, shown) for address in addresses]
    return entries


def find_line_after(lines: Sequence[str], address: str) -> int:
    """Return the number of the line behind that of a skill, or of where it would be."""
    addresses = [address_in_head(split_line(line)[0]) for line in lines]
    if address in addresses:
        return addresses.index(address) + 1
    return next((number for number, one in enumerate(addresses) if one > address), len(lines))


def estimate_tokens(text: str) -> int:
    """Return an estimate of the tokens of `text`: its UTF-8 bytes / 4, rounded up."""
    return tokens_of_size(len(text.encode()))


def tokens_of_size(size: int) -> int:
    """Return an estimate of the tokens of a text of so many bytes."""
    return -(-size // BYTES_PER_TOKEN)


def _escape_name(name: str) -> str:
    """Return a name, already on one line, without separators and marks of the index."""
    text = _NAME_SEPARATORS.sub(" - ", name[: limits.MAX_SKILL_NAME_CHARS]).translate(
        _MARK_REPLACEMENTS
    )
    return " ".join(text.split())


def _format_descriptions(texts: list[str]) -> list[str]:
    most = limits.MAX_DESCRIPTION_CHARS
    return [
        (text if text.isascii() else text.translate(_MARK_REPLACEMENTS)) or NO_DESCRIPTION
        if len(text) <= most
        else truncate(text.translate(_MARK_REPLACEMENTS), most)
        for text in fold_all_to_lines(texts)
    ]
