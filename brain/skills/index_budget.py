"""Fits an index into a token budget: which skills it shows, and how much of each.

All descriptions are shortened alike, down to a useful minimum; then only addresses are
listed, by category, and remaining bytes go to descriptions of the first skills; then skills
are left out, from the end of the order. The content of a skill has no influence on the
order, which is the caller's.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import accumulate, chain, zip_longest
from typing import NamedTuple

from .index_lines import (
    NAME_LIST_MARK,
    SKILL_MARK,
    IndexText,
    TokenCounter,
    address_in_head,
    format_name_list,
    format_omitted_count,
)
from .visible_text import ELLIPSIS

TextMeasure = Callable[[str], int]
"""Returns the size of a text: `len` in characters, `utf8_size` in bytes."""

_CLAUSE_END = re.compile("[.,;:!?)](?= )|(?= [(–—-] )|[。、，；：！？]")
_MIN_CLAUSE_CHARS, _MAX_CLAUSE_CHARS = 16, 80
"""Fewest and most characters of a first clause that may replace a description."""
_FALLBACK_BYTES = 48
"""Bytes of words that replace a description without such a clause."""
_TRAILING_PUNCTUATION = " .,;:!?-–—([{\"'“‘"


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
    clause = _CLAUSE_END.search(text, _MIN_CLAUSE_CHARS, _MAX_CLAUSE_CHARS)
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


_LINE_OVERHEAD = utf8_size(f"{SKILL_MARK} : \n")
_NAME_LIST_OVERHEAD = utf8_size(f"{NAME_LIST_MARK} : \n")
_SEPARATOR_BYTES = utf8_size(", ")
_MIN_LISTED_BYTES = 600
"""Bytes that go to addresses before any skill is described."""
_MIN_DESCRIPTION_BYTES = 8
"""Bytes of each description that must fit, else only names are shown."""


class IndexCandidate(NamedTuple):
    """A skill that the index may show, in the form for lines.

    `head` is what stands before the description: the address, and a name that differs.
    With the description "" only the address is shown. Skills are printed by `rank`, then by
    address.
    """

    head: str
    description: str
    category: str = ""
    rank: int = 0

    @property
    def address(self) -> str:
        """What is shown of the skill in a list."""
        return address_in_head(self.head)


class _ShownSkill(NamedTuple):
    """A skill that the index shows, and how much of its description."""

    skill: IndexCandidate
    description: str


def format_all(skills: Sequence[IndexCandidate], count: TokenCounter) -> IndexText:
    """Return the complete index."""
    text = _format_index(_show_all(skills), 0)
    return IndexText(text, len(skills), 0, count(text))


def fit_to_budget(
    skills: Sequence[IndexCandidate],
    budget: int,
    count: TokenCounter,
    byte_budget: int | None = None,
) -> IndexText:
    """Return the index in at most `budget` tokens; the last skills are cut first.

    `byte_budget` is a first guess in bytes, by default the size of the complete index.
    """
    if byte_budget is None:
        index = format_all(skills, count)
        byte_budget = utf8_size(index.text)
    else:
        index = _fit_to_bytes(skills, byte_budget, count)
    while index.tokens > budget and index.text:
        byte_budget = min(byte_budget - 1, byte_budget * budget // index.tokens)
        index = _fit_to_bytes(skills, byte_budget, count)
    return index


def interleave_categories(skills: Sequence[IndexCandidate]) -> list[IndexCandidate]:
    """Return the first skill of each category, then the second of each, and so on."""
    by_category: dict[str, list[IndexCandidate]] = {}
    for skill in skills:
        by_category.setdefault(skill.category, []).append(skill)
    rounds = zip_longest(*by_category.values())
    return [skill for skill in chain.from_iterable(rounds) if skill]


def group_folders(folders: Sequence[str], addresses: Sequence[str]) -> dict[str, str]:
    """Return the category of each folder, from the folders and addresses of skills in one order.

    It is the folder, or the nearest above it, whose name takes less bytes than those of its
    skills; else "". So an index shows as many of plugins/X/skills/X as of skills/X.
    """
    names: dict[str, int] = {"": 0}
    for folder, address in zip(folders, addresses, strict=True):
        names[folder] = names.get(folder, 0) + utf8_size(address) + _SEPARATOR_BYTES
    inside = {folder: [folder] for folder in names}
    waiting = sorted((-folder.count("/"), folder) for folder in names if folder)
    while waiting:
        _, folder = heappop(waiting)
        if names[folder] > _category_cost(folder):
            continue
        above = folder.rpartition("/")[0]
        if above not in names:
            names[above], inside[above] = 0, []
            heappush(waiting, (-above.count("/"), above))
        names[above] += names.pop(folder)
        inside[above] += inside.pop(folder)
    return {folder: category for category, some in inside.items() for folder in some}


def _fit_to_bytes(
    skills: Sequence[IndexCandidate], byte_budget: int, count: TokenCounter
) -> IndexText:
    total = len(skills)
    shown = _choose_shown(skills, byte_budget)
    if len(shown) < total:
        shown = _choose_shown(skills, byte_budget - utf8_size(format_omitted_count(total)) - 1)
    text = _format_index(shown, total - len(shown))
    if utf8_size(text) > byte_budget:  # not even the count of omitted skills fits
        return IndexText("", 0, total, count(""))
    return IndexText(text, len(shown), total - len(shown), count(text))


def _show_all(skills: Sequence[IndexCandidate]) -> list[_ShownSkill]:
    return [_ShownSkill(skill, skill.description) for skill in skills]


def _full_size(skill: IndexCandidate) -> int:
    """Return the bytes of a skill shown in full, at most."""
    if skill.description:
        return utf8_size(skill.head) + utf8_size(skill.description) + _LINE_OVERHEAD
    return utf8_size(skill.address) + utf8_size(skill.category) + _NAME_LIST_OVERHEAD


def _choose_shown(skills: Sequence[IndexCandidate], byte_budget: int) -> list[_ShownSkill]:
    """Return what is shown of skills so that their lines fit."""
    room = byte_budget + 1  # the last line has no newline
    if sum(map(_full_size, skills)) <= room:
        return _show_all(skills)
    if (_LINE_OVERHEAD + _MIN_DESCRIPTION_BYTES) * len(skills) <= room:
        overhead = sum(utf8_size(skill.head) + _LINE_OVERHEAD for skill in skills)
        shortened = _shorten_descriptions(skills, room - overhead)
        if shortened:
            return shortened
    listed, left = _list_names(skills, room)
    if len(listed) < len(skills) and all(skill.description for skill in listed):
        overhead = sum(utf8_size(skill.head) + _LINE_OVERHEAD for skill in listed)
        shortened = _shorten_descriptions(listed, room - overhead)
        if shortened:
            return shortened
    return _restore_descriptions(listed, left)


def _shorten_descriptions(skills: Sequence[IndexCandidate], byte_budget: int) -> list[_ShownSkill]:
    """Shorten all descriptions alike, as little as needed; [] below the useful minimum."""
    sizes = [(utf8_size(skill.description), min_useful_size(skill.description)) for skill in skills]
    if not sizes or sum(fewest for _, fewest in sizes) > byte_budget:
        return []
    fits, too_long = 0, max(most for most, _ in sizes) + 1
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if sum(min(most, max(middle, fewest)) for most, fewest in sizes) <= byte_budget:
            fits = middle
        else:
            too_long = middle
    return [
        _ShownSkill(skill, shorten_text(skill.description, max(fits, fewest)))
        for skill, (_, fewest) in zip(skills, sizes, strict=True)
    ]


def _list_names(
    skills: Sequence[IndexCandidate], room: int
) -> tuple[Sequence[IndexCandidate], int]:
    """Return the first skills whose addresses fit, and the remaining bytes.

    Where those of all do not, and the room is not very small, up to half of it is kept to
    describe the first skills.
    """
    costs: list[int] = []
    categories: set[str] = set()
    for skill in skills:
        cost = utf8_size(skill.address) + _SEPARATOR_BYTES
        if skill.category not in categories:
            categories.add(skill.category)
            cost += _category_cost(skill.category)
        costs.append(cost)
    total = sum(costs)
    kept = max(min(room // 2, 2 * (total - room), room - _MIN_LISTED_BYTES), 0)
    fitting = bisect_right(list(accumulate(costs)), room - kept)
    return skills[:fitting], room - sum(costs[:fitting])


def _category_cost(category: str) -> int:
    return utf8_size(category) + _NAME_LIST_OVERHEAD


def _restore_descriptions(listed: Sequence[IndexCandidate], byte_budget: int) -> list[_ShownSkill]:
    """Give descriptions to the first listed skills, as long as they fit."""
    left_in_category = Counter(skill.category for skill in listed)
    described: list[_ShownSkill] = []
    for place, skill in enumerate(listed):
        text = shorten_text(skill.description, min_useful_size(skill.description))
        byte_budget += utf8_size(skill.address) + _SEPARATOR_BYTES
        byte_budget -= utf8_size(text) + utf8_size(skill.head) + _LINE_OVERHEAD
        left_in_category[skill.category] -= 1
        if not left_in_category[skill.category]:  # its list is no longer needed
            byte_budget += _category_cost(skill.category)
        if byte_budget < 0:
            return described + [_ShownSkill(one, "") for one in listed[place:]]
        described.append(_ShownSkill(skill, text))
    return described


def _format_index(shown: Sequence[_ShownSkill], left_out: int) -> str:
    """Return the lines: described skills, listed ones by category, and the omitted count."""
    by_rank = sorted(shown, key=lambda one: (one.skill.rank, one.skill.head))
    lines = [f"{SKILL_MARK} {skill.head}: {text}" for skill, text in by_rank if text]
    named: dict[tuple[int, str], list[str]] = {}
    ranks: dict[str, int] = {}
    for skill, text in by_rank:
        if not text:
            rank = ranks.setdefault(skill.category, skill.rank)
            named.setdefault((rank, skill.category), []).append(skill.address)
    lines += [format_name_list(key[1], addresses) for key, addresses in sorted(named.items())]
    if left_out:
        lines.append(format_omitted_count(left_out))
    return "\n".join(lines)
