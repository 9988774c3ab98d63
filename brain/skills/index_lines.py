"""The lines of the Level-0 index, one per skill; no name or description can forge a line.

A line is `▸ <address>: <description>`, or `▸ <address> (<name>): <description>` if the
skill declares a name that is not its slug. The address opens the skill (`skill_address`).
No part holds a newline, a hidden code point or a mark of the index; the address holds no
` (` and the name no `: `, so a line parses back to one address, name and description.

Under a budget, whole lines are shown if all fit; else the descriptions are cut, all to one size
and no shorter than is useful; else a line `▹ <address>, <address>` lists skills by address alone,
and what room is left describes the first ones; else the last skills are left out, and the last
line gives their number. What a text says has no influence on that.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

from .. import limits
from ..named_tuple import NamedTuple
from ..util.text import lazy_pattern
from .visible_text import ELLIPSIS, fold_to_line, truncate

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


def format_line(address: str, name: str, description: str) -> str:
    """Return the line of one skill."""
    return format_lines([(address, name, description)])[0]


def format_lines(cards: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return the lines of skills, given as (address, declared name, description)."""
    lines = []
    for address, declared, description in cards:
        name, text = fold_to_line(declared), fold_to_line(description)
        is_plain = name.isascii() and len(name) <= limits.MAX_SKILL_NAME_CHARS and ": " not in name
        shown = name if is_plain else _escape_name(name)
        head = f"{address}{_NAME_START}{shown})" if shown else address
        unmarked = text if text.isascii() else text.translate(_MARK_REPLACEMENTS)
        about = truncate(unmarked, limits.MAX_DESCRIPTION_CHARS) or NO_DESCRIPTION
        lines.append(f"{SKILL_MARK} {head}: {about}")
    return lines


def differing_name(slug: str, name: str) -> str:
    """Return the declared name of a skill for its line, "" if it is the slug."""
    return "" if name == slug else name


def address_in_head(head: str) -> str:
    """Return the address in what stands before a description."""
    return head.partition(_NAME_START)[0]


def split_line(line: str) -> tuple[str, str]:
    """Return the head, that is address and name, and the description of a line."""
    head, _, description = line[len(SKILL_MARK) + 1 :].partition(": ")
    return head, description


def format_name_list(addresses: Iterable[str]) -> str:
    """Return the line that lists skills by their addresses."""
    return f"{NAME_LIST_MARK} {', '.join(addresses)}"


def format_omitted_count(count: int) -> str:
    """Return the last line of an index that leaves out `count` skills."""
    return f"{ELLIPSIS} {count} more {'skill is' if count == 1 else 'skills are'} not shown"


def address_of_line(line: str) -> str:
    """Return the address of the skill in a line."""
    return address_in_head(split_line(line)[0])


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


# Under a budget

Line = tuple[str, str]
"""A skill of the index: its head and its description, "" to list its address alone."""
TextMeasure = Callable[[str], int]
"""Returns the size of a text: `len` in characters, `utf8_size` in bytes."""

_CLAUSE_END = lazy_pattern("[.,;:!?)](?= )|(?= [(–—-] )|[。、，；：！？]")
_MIN_CLAUSE_CHARS, _MAX_CLAUSE_CHARS = 16, 80
"""Fewest and most characters of a first clause that may replace a description."""
_FALLBACK_BYTES = 48
"""Bytes of words that replace a description without such a clause."""
_TRAILING_PUNCTUATION = " .,;:!?-–—([{\"'“‘"
_LINE_BYTES, _LIST_BYTES, _SEPARATOR_BYTES = len("▸ : \n".encode()), len("▹ \n".encode()), 2


def format_all(lines: Sequence[Line], count: TokenCounter) -> IndexText:
    """Return the complete index."""
    text = _join_lines(lines, 0)
    return IndexText(text, len(lines), 0, count(text))


def fit_to_budget(
    lines: Sequence[Line], budget: int, count: TokenCounter, size: int | None = None
) -> IndexText:
    """Return the index in at most `budget` tokens.

    `size` is a first guess in bytes, by default that of the complete index.
    """
    if size is None:
        index = format_all(lines, count)
        size = utf8_size(index.text)
    else:
        index = _fit_to_size(lines, size, count)
    while index.tokens > budget and index.text:
        size = min(size - 1, size * budget // index.tokens)
        index = _fit_to_size(lines, size, count)
    return index


def _fit_to_size(lines: Sequence[Line], size: int, count: TokenCounter) -> IndexText:
    total = len(lines)
    shown = _choose_lines(lines, size + 1)  # the last line has no newline
    if len(shown) < total:
        shown = _choose_lines(lines, size - utf8_size(format_omitted_count(total)))
    text = _join_lines(shown, total - len(shown))
    if utf8_size(text) > size:  # not even the count of omitted skills fits
        return IndexText("", 0, total, count(""))
    return IndexText(text, len(shown), total - len(shown), count(text))


def _choose_lines(lines: Sequence[Line], room: int) -> Sequence[Line]:
    """Return what is shown of skills so that their lines fit into `room` bytes."""
    heads = [utf8_size(head) + _LINE_BYTES for head, _ in lines]
    wanted = [utf8_size(text) for _, text in lines]
    if all(wanted):
        left = room - sum(heads)
        if sum(wanted) <= left:
            return lines
        if len(lines) <= left:  # else the words of a hundred thousand are not looked at
            useful = [min_useful_size(text) for _, text in lines]
            if sum(useful) <= left:
                sizes = range(max(wanted))
                most = sizes[
                    bisect_left(sizes, True, key=lambda n: _cut_size(wanted, useful, n) > left) - 1
                ]
                return [
                    (head, shorten_text(text, max(most, least)))
                    for (head, text), least in zip(lines, useful, strict=True)
                ]
    names = [utf8_size(address_in_head(head)) + _SEPARATOR_BYTES for head, _ in lines]
    listed = lines[: bisect_right(list(accumulate(names, initial=_LIST_BYTES)), room) - 1]
    left = room - _LIST_BYTES - sum(names[: len(listed)])
    described: list[Line] = []
    for (head, text), whole, name in zip(listed, heads, names, strict=False):
        short = shorten_text(text, min_useful_size(text))
        left -= whole + utf8_size(short) - name
        if not short or left < 0:
            break
        described.append((head, short))
    return [*described, *((head, "") for head, _ in listed[len(described) :])]


def _cut_size(wanted: Sequence[int], useful: Sequence[int], most: int) -> int:
    return sum(min(all_, max(most, least)) for all_, least in zip(wanted, useful, strict=True))


def _join_lines(lines: Sequence[Line], left_out: int) -> str:
    out = [f"{SKILL_MARK} {head}: {text}" for head, text in lines if text]
    if names := [address_in_head(head) for head, text in lines if not text]:
        out.append(format_name_list(names))
    if left_out:
        out.append(format_omitted_count(left_out))
    return "\n".join(out)


def utf8_size(text: str) -> int:
    """Return the bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def shorten_text(text: str, limit: int, measure: TextMeasure = utf8_size) -> str:
    """Return `text` cut after a word, with an ellipsis, to a size of at most `limit`.

    Only the ellipsis is left if the first word does not fit, "" if that does not fit either.
    """
    if measure(text) <= limit:
        return text
    available = limit - measure(ELLIPSIS)
    if available < 0:
        return ""
    end = text.find(" ", available)
    head = (text if end < 0 else text[:end]).rstrip(_TRAILING_PUNCTUATION)
    while head and measure(head) > available:
        head = head[: max(head.rfind(" "), 0)].rstrip(_TRAILING_PUNCTUATION)
    if not text.isascii():
        head = max(head, _cut_between_ideographs(text, available, measure), key=len)
    return head + ELLIPSIS


def min_useful_size(text: str) -> int:
    """Return the fewest bytes of a description that are useful: its first clause, or some words."""
    clause = _CLAUSE_END().search(text, _MIN_CLAUSE_CHARS, _MAX_CLAUSE_CHARS)
    enough = utf8_size(text[: clause.start()]) + utf8_size(ELLIPSIS) if clause else _FALLBACK_BYTES
    return min(utf8_size(text), max(utf8_size(shorten_text(text, enough)), utf8_size(ELLIPSIS)))


def _cut_between_ideographs(text: str, available: int, measure: TextMeasure) -> str:
    """Return the longest prefix that ends next to an ideograph; their words have no spaces."""
    end = len(text[:available])
    while end and measure(text[:end]) > available:
        end -= 1
    while end and not (_is_ideograph(text[end - 1]) or _is_ideograph(text[end])):
        end -= 1
    return text[:end].rstrip(_TRAILING_PUNCTUATION)


def _is_ideograph(character: str) -> bool:
    return "\u2e80" <= character <= "\u9fff" or "\U00020000" <= character <= "\U0003ffff"
