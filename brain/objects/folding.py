"""Fold names for comparison: without case, in one Unicode form, by a table that never changes.

The table `folding.json` is a part of format 1: the folded form of each code point (`fold`) and
the combining classes (`class`), generated once from Unicode 14. So folding is the same under
every version of Python and in every language. The first name beyond ASCII loads the table.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from itertools import islice
from typing import NamedTuple

_IOTA_SUBSCRIPT, _IOTA = "\u0345", "\u03b9"
_SYLLABLE_BASE, _LAST_SYLLABLE = 0xAC00, 0xD7A3
_LEAD_BASE, _VOWEL_BASE, _TRAIL_BASE = 0x1100, 0x1161, 0x11A7
_SYLLABLES_PER_LEAD, _SYLLABLES_PER_VOWEL = 588, 28


def fold_name(text: str) -> str:
    """Return the folded form of a name or path.

    Joiners and variation selectors are removed. Texts that are canonically equivalent, or
    differ in case only, have the same form.
    """
    if text.isascii():
        return text.lower()
    table = _load_table()
    folded = "".join(map(table.fold_char, text))
    if not table.marks.isdisjoint(folded):
        folded = _order_marks(folded, table.classes).replace(_IOTA_SUBSCRIPT, _IOTA)
    return folded


def strip_marks(folded: str) -> str:
    """Return the skeleton of a folded name: the name without its combining marks.

    Names with the same folded form have the same skeleton, but not the other way round.
    """
    if folded.isascii():
        return folded
    marks = _load_table().marks
    return "".join(char for char in folded if char != _IOTA and char not in marks)


def match_length(char: str, rest: str) -> int:
    """Return how many characters of the skeleton `rest` a code point matches; -1 if it does not."""
    piece = char.lower() if char.isascii() else strip_marks(_load_table().fold_char(char))
    return len(piece) if rest.startswith(piece) else -1


def next_matching_code_point(rest: str, after: int) -> int:
    """Return the least code point above `after`, 0x80 or more, that matches; -1 if none does."""
    by_start = _code_points_by_start()
    lists = [by_start.get("", []), by_start.get(rest[:1], []), _unchanged_code_points(rest)]
    matches = [_first_matching(codes, rest, max(after, 0x7F)) for codes in lists if codes]
    return min((code for code in matches if code >= 0), default=-1)


def _first_matching(codes: list[int], rest: str, after: int) -> int:
    later = islice(codes, bisect_right(codes, after), None)
    return next((code for code in later if match_length(chr(code), rest) >= 0), -1)


class _FoldTable(NamedTuple):
    fold: dict[str, str]
    classes: dict[str, int]
    marks: frozenset[str]

    def fold_char(self, char: str) -> str:
        """Return the folded form of a code point."""
        folded = self.fold.get(char)
        if folded is None and _SYLLABLE_BASE <= ord(char) <= _LAST_SYLLABLE:
            return _decompose_hangul(ord(char))
        return char if folded is None else folded


@cache
def _load_table() -> _FoldTable:
    import json
    from importlib.resources import files

    data = json.loads((files(__package__) / "folding.json").read_text("ascii"))
    return _FoldTable(data["fold"], data["class"], frozenset(data["class"]))


def _order_marks(text: str, classes: dict[str, int]) -> str:
    """Return `text` with each run of combining marks in the order of their classes."""
    out: list[str] = []
    run: list[str] = []
    for char in text:
        if char in classes:
            run.append(char)
            continue
        out += sorted(run, key=classes.__getitem__)
        out.append(char)
        run = []
    return "".join(out + sorted(run, key=classes.__getitem__))


def _decompose_hangul(code: int) -> str:
    """Return the letters of a Hangul syllable (The Unicode Standard, 3.12)."""
    place = code - _SYLLABLE_BASE
    trail = place % _SYLLABLES_PER_VOWEL
    letters = [
        _LEAD_BASE + place // _SYLLABLES_PER_LEAD,
        _VOWEL_BASE + place % _SYLLABLES_PER_LEAD // _SYLLABLES_PER_VOWEL,
    ]
    return "".join(map(chr, [*letters, _TRAIL_BASE + trail] if trail else letters))


@cache
def _code_points_by_start() -> dict[str, list[int]]:
    """Map the first character of skeletons to code points beyond ASCII, ascending."""
    table = _load_table()
    by_start: dict[str, list[int]] = {}
    for char in sorted({*table.fold, *table.marks, _IOTA}):
        if not char.isascii():
            by_start.setdefault(strip_marks(table.fold_char(char))[:1], []).append(ord(char))
    return by_start


def _unchanged_code_points(rest: str) -> list[int]:
    """Return the code points that fold to themselves, or are a syllable of the next letters."""
    if not rest:
        return []
    lead, vowel, trail = (ord(rest[at]) if at < len(rest) else 0 for at in range(3))
    found = [lead]
    if _LEAD_BASE <= lead < _LEAD_BASE + 19 and _VOWEL_BASE <= vowel < _VOWEL_BASE + 21:
        syllable = (
            _SYLLABLE_BASE
            + (lead - _LEAD_BASE) * _SYLLABLES_PER_LEAD
            + (vowel - _VOWEL_BASE) * _SYLLABLES_PER_VOWEL
        )
        found.append(syllable)
        if _TRAIL_BASE < trail < _TRAIL_BASE + _SYLLABLES_PER_VOWEL:
            found.append(syllable + trail - _TRAIL_BASE)
    return found
