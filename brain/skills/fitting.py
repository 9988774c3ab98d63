"""Which skills an index shows in little room, and how much of each.

The room is shared among the authors of the skills: whoever needs less than an equal
share leaves the rest to the others, so nobody is pushed out by how much another one
writes. Within a share all descriptions are cut alike, down to what still routes; then
names stand alone, by category, and as much room as is left goes to descriptions again;
then skills are left out, from the end of the order. What a skill says of itself plays no
part in any of it: the order is the caller's, else category by category in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

from .index import MARK, NAMES_MARK, IndexText, TokenCounter, listed, listing, more
from .shorten import least, shorten, size

_LINE = size(f"{MARK} : \n")
_LIST = size(f"{NAMES_MARK} : \n")
_NEXT = size(", ")
_SHORTEST = 8
"""Bytes: if not even so much of each description fits, the names alone are shown."""


class Candidate(NamedTuple):
    """A skill that may be shown: where it is, who wrote it, and the rest as its line has it.

    With the description "" it is shown by its name alone.
    """

    name: str
    description: str
    category: str = ""
    author: str = ""


class _Kept(NamedTuple):
    """A skill that is shown, and how much of its description."""

    skill: Candidate
    description: str


_Group = tuple[int, list[Candidate]]


def whole(skills: Sequence[Candidate], count: TokenCounter) -> IndexText:
    """Return the index that leaves nothing out."""
    text = _text([_Kept(skill, skill.description) for skill in skills], 0)
    return IndexText(text, len(skills), 0, count(text))


def fit(
    skills: Sequence[Candidate], budget: int, count: TokenCounter, room: int | None = None
) -> IndexText:
    """Return the index of at most `budget` tokens; of each author the first stay longest.

    `room` is how many bytes may do, to begin with; it is reckoned from the whole if not given.
    """
    groups = _by_author(skills)
    if room is None:
        made = whole(skills, count)
        room = size(made.text)
    else:
        made = _within(groups, room, count)
    while made.tokens > budget and made.text:
        room = min(room - 1, room * budget // made.tokens)
        made = _within(groups, room, count)
    return made


def in_turn(skills: Sequence[Candidate]) -> list[Candidate]:
    """Return the first skill of each category, then the second of each, and so on."""
    by_category: dict[str, list[Candidate]] = {}
    for skill in skills:
        by_category.setdefault(skill.category, []).append(skill)
    rounds = zip_longest(*by_category.values())
    return [skill for skill in chain.from_iterable(rounds) if skill]


def _by_author(skills: Sequence[Candidate]) -> list[_Group]:
    """Return the skills of each author with the bytes that they take; who needs least first."""
    found: dict[str, list[Candidate]] = {}
    for skill in skills:
        found.setdefault(skill.author, []).append(skill)
    return sorted([(sum(map(_need, own)), own) for own in found.values()])


def _within(groups: Sequence[_Group], room: int, count: TokenCounter) -> IndexText:
    """Return the index of at most `room` bytes."""
    total = sum(len(own) for _, own in groups)
    kept = _shared(groups, room)
    if len(kept) < total:
        kept = _shared(groups, room - size(more(total)) - 1)
    text = _text(kept, total - len(kept))
    if size(text) > room:  # there is not even room to say how many are left out
        return IndexText("", 0, total, count(""))
    return IndexText(text, len(kept), total - len(kept), count(text))


def _shared(groups: Sequence[_Group], room: int) -> list[_Kept]:
    """Share out the room; return what is shown."""
    kept: list[_Kept] = []
    for number, (need, own) in enumerate(groups):
        share = (room + 1) // (len(groups) - number)  # the last line has no newline
        found = [_Kept(one, one.description) for one in own] if need <= share else _cut(own, share)
        room -= size(_text(found, 0)) + 1 if found else 0
        kept += found
    return kept


def _need(skill: Candidate) -> int:
    """Return the bytes that a skill takes at most, shown in full."""
    if skill.description:
        return size(skill.name) + size(skill.description) + _LINE
    return size(skill.name) + size(skill.category) + _LIST


def _cut(skills: Sequence[Candidate], share: int) -> list[_Kept]:
    """Return what is shown of one author's skills, whose lines do not fit."""
    if (_LINE + _SHORTEST) * len(skills) <= share:
        found = _shortened(skills, share - sum(size(skill.name) + _LINE for skill in skills))
        if found:
            return found
    return _described(*_named(skills, share))


def _shortened(skills: Sequence[Candidate], room: int) -> list[_Kept]:
    """Cut all descriptions alike, as little as will do; [] if what is left would not route."""
    sizes = [(size(skill.description), least(skill.description)) for skill in skills]
    if sum(fewest for _, fewest in sizes) > room:
        return []
    fits, too_long = 0, max(most for most, _ in sizes) + 1
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if sum(min(most, max(middle, fewest)) for most, fewest in sizes) <= room:
            fits = middle
        else:
            too_long = middle
    return [
        _Kept(skill, shorten(skill.description, max(fits, fewest)))
        for skill, (_, fewest) in zip(skills, sizes, strict=True)
    ]


def _named(skills: Sequence[Candidate], share: int) -> tuple[list[_Kept], int]:
    """Return the first skills whose names fit, and the bytes that are left."""
    kept: list[_Kept] = []
    categories: set[str] = set()
    for skill in skills:
        cost = size(listed(skill.name)) + _NEXT
        if skill.category not in categories:
            categories.add(skill.category)
            cost += size(skill.category) + _LIST
        if cost > share:
            break
        share -= cost
        kept.append(_Kept(skill, ""))
    return kept, share


def _described(kept: Sequence[_Kept], left: int) -> list[_Kept]:
    """Give descriptions to the first of those that are named, as long as there is room."""
    described: list[_Kept] = []
    for place, (skill, _) in enumerate(kept):
        text = shorten(skill.description, least(skill.description))
        left -= size(text) + size(skill.name) + _LINE - size(listed(skill.name)) - _NEXT
        if left < 0:
            return described + list(kept[place:])
        described.append(_Kept(skill, text))
    return described


def _text(kept: Sequence[_Kept], left_out: int) -> str:
    """Return the lines: what is described, by name; what is named, by category; what is not."""
    described = sorted((skill.name, text) for skill, text in kept if text)
    lines = [f"{MARK} {name}: {text}" for name, text in described]
    named: dict[str, list[str]] = {}
    for skill, text in kept:
        if not text:
            named.setdefault(skill.category, []).append(skill.name)
    lines += [listing(category, sorted(names)) for category, names in sorted(named.items())]
    return "\n".join([*lines, more(left_out)] if left_out else lines)
