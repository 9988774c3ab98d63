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

_IOTA_BELOW, _IOTA = "\u0345", "\u03b9"
_SYLLABLES, _LAST_SYLLABLE = 0xAC00, 0xD7A3
_LEADS, _VOWELS, _TRAILS = 0x1100, 0x1161, 0x11A7
_PER_LEAD, _PER_VOWEL = 588, 28


def fold(text: str) -> str:
    """Return the form in which names, or paths, are compared.

    Joiners and variation selectors are nothing. Two texts that are canonically equivalent,
    or differ in case alone, have one form.
    """
    if text.isascii():
        return text.lower()
    table = _table()
    folded = "".join(map(table.piece, text))
    if not table.marks.isdisjoint(folded):
        folded = _ordered(folded, table.classes).replace(_IOTA_BELOW, _IOTA)
    return folded


def skeleton(folded: str) -> str:
    """Return what combining marks neither add to nor move in: `folded` without them.

    Names that fold to the same have the same; the reverse need not be.
    """
    if folded.isascii():
        return folded
    marks = _table().marks
    return "".join(char for char in folded if char != _IOTA and char not in marks)


def fits(char: str, rest: str) -> int:
    """Return how much of the skeleton `rest` a code point is the start of, -1 if it is none."""
    piece = char.lower() if char.isascii() else skeleton(_table().piece(char))
    return len(piece) if rest.startswith(piece) else -1


def next_fitting(rest: str, after: int) -> int:
    """Return the least code point above `after`, 0x80 or more, that `fits`; -1 if none does."""
    places = _places()
    lists = [places.get("", []), places.get(rest[:1], []), _as_it_is(rest)]
    found = [_first(codes, rest, max(after, 0x7F)) for codes in lists if codes]
    return min((code for code in found if code >= 0), default=-1)


def _first(codes: list[int], rest: str, after: int) -> int:
    later = islice(codes, bisect_right(codes, after), None)
    return next((code for code in later if fits(chr(code), rest) >= 0), -1)


class _Table(NamedTuple):
    fold: dict[str, str]
    classes: dict[str, int]
    marks: frozenset[str]

    def piece(self, char: str) -> str:
        """Return what stands for a code point."""
        piece = self.fold.get(char)
        if piece is None:
            return _jamo(ord(char)) if _SYLLABLES <= ord(char) <= _LAST_SYLLABLE else char
        return piece


@cache
def _table() -> _Table:
    import json
    from importlib.resources import files

    data = json.loads((files(__package__) / "folding.json").read_text("ascii"))
    return _Table(data["fold"], data["class"], frozenset(data["class"]))


def _ordered(text: str, classes: dict[str, int]) -> str:
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


def _jamo(code: int) -> str:
    """Return the letters of a Hangul syllable (The Unicode Standard, 3.12)."""
    place = code - _SYLLABLES
    trail = place % _PER_VOWEL
    letters = [_LEADS + place // _PER_LEAD, _VOWELS + place % _PER_LEAD // _PER_VOWEL]
    return "".join(map(chr, [*letters, _TRAILS + trail] if trail else letters))


@cache
def _places() -> dict[str, list[int]]:
    """Return the code points beyond ASCII by the first of their skeleton, each list ascending."""
    table = _table()
    places: dict[str, list[int]] = {}
    for char in sorted({*table.fold, *table.marks, _IOTA}):
        if not char.isascii():
            places.setdefault(skeleton(table.piece(char))[:1], []).append(ord(char))
    return places


def _as_it_is(rest: str) -> list[int]:
    """Return the code points that stand for themselves, or are a syllable of what comes."""
    if not rest:
        return []
    lead, vowel, trail = (ord(rest[at]) if at < len(rest) else 0 for at in range(3))
    found = [lead]
    if _LEADS <= lead < _LEADS + 19 and _VOWELS <= vowel < _VOWELS + 21:
        syllable = _SYLLABLES + (lead - _LEADS) * _PER_LEAD + (vowel - _VOWELS) * _PER_VOWEL
        found.append(syllable)
        if _TRAILS < trail < _TRAILS + _PER_VOWEL:
            found.append(syllable + trail - _TRAILS)
    return found
