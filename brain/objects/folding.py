"""How names are compared: without case, in one Unicode form, by a table that never changes.

`folding.json` is a part of format 1: what stands for each code point (`fold`) and the
combining classes (`class`), made once from Unicode 14. So it is the same under every version
of Python, and any other language reads it as well. It is loaded for the first name that is
not ASCII.
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
    """Return the form in which names, or paths, are compared.

    Joiners and variation selectors are nothing. Two texts that are canonically equivalent,
    or differ in case alone, have one form.
    """
    if text.isascii():
        return text.lower()
    table = _load_table()
    folded = "".join(map(table.fold_char, text))
    if not table.marks.isdisjoint(folded):
        folded = _order_marks(folded, table.classes).replace(_IOTA_SUBSCRIPT, _IOTA)
    return folded


def strip_marks(folded: str) -> str:
    """Return what combining marks neither add to nor move in: `folded` without them.

    Names that fold to the same have the same; the reverse need not be.
    """
    if folded.isascii():
        return folded
    marks = _load_table().marks
    return "".join(char for char in folded if char != _IOTA and char not in marks)


def match_length(char: str, rest: str) -> int:
    """Return how much of the skeleton `rest` a code point is the start of, -1 if it is none."""
    piece = char.lower() if char.isascii() else strip_marks(_load_table().fold_char(char))
    return len(piece) if rest.startswith(piece) else -1


def next_matching_code_point(rest: str, after: int) -> int:
    """Return the least code point above `after`, 0x80 or more, that `fits`; -1 if none does."""
    places = _code_points_by_start()
    lists = [places.get("", []), places.get(rest[:1], []), _unchanged_code_points(rest)]
    found = [_first_matching(codes, rest, max(after, 0x7F)) for codes in lists if codes]
    return min((code for code in found if code >= 0), default=-1)


def _first_matching(codes: list[int], rest: str, after: int) -> int:
    later = islice(codes, bisect_right(codes, after), None)
    return next((code for code in later if match_length(chr(code), rest) >= 0), -1)


class _FoldTable(NamedTuple):
    fold: dict[str, str]
    classes: dict[str, int]
    marks: frozenset[str]

    def fold_char(self, char: str) -> str:
        """Return what stands for a code point."""
        piece = self.fold.get(char)
        if piece is None:
            return (
                _decompose_hangul(ord(char))
                if _SYLLABLE_BASE <= ord(char) <= _LAST_SYLLABLE
                else char
            )
        return piece


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
    """Return the code points beyond ASCII by the first of their skeleton, each list ascending."""
    table = _load_table()
    places: dict[str, list[int]] = {}
    for char in sorted({*table.fold, *table.marks, _IOTA}):
        if not char.isascii():
            places.setdefault(strip_marks(table.fold_char(char))[:1], []).append(ord(char))
    return places


def _unchanged_code_points(rest: str) -> list[int]:
    """Return the code points that stand for themselves, or are a syllable of what comes."""
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
