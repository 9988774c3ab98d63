"""Fold names for comparison: without case, in one Unicode form, by a table that never changes.

The table `folding.json` is a part of format 1: the folded form of each code point (`fold`) and
the combining classes (`class`), generated once from Unicode 14. So folding is the same under
every version of Python and in every language. The first name beyond ASCII loads the table.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache, lru_cache

from ..named_tuple import NamedTuple

_IOTA_SUBSCRIPT, _IOTA = "\u0345", "\u03b9"
_SYLLABLE_BASE, _LAST_SYLLABLE = 0xAC00, 0xD7A3
_LEAD_BASE, _VOWEL_BASE, _TRAIL_BASE = 0x1100, 0x1161, 0x11A7
_SYLLABLES_PER_LEAD, _SYLLABLES_PER_VOWEL = 588, 28
_FIRST_NON_ASCII = "\x80"
_CACHED_FITTING_CHARS = 256


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


def next_char(skeleton: str, after: str) -> str:
    """Return the least character above `after` that may come where `skeleton` is left of a name.

    "" if there is none. The name of a folder is followed by a slash.
    """
    wanted = skeleton[:1] or "/"
    if wanted.isascii() and after < _FIRST_NON_ASCII:
        fitting = (char for char in (wanted.upper(), wanted) if char > after)
        return next(fitting, _FIRST_NON_ASCII)  # where mostly nothing is: no table is needed
    chars = _list_fitting_chars(skeleton[:1])
    return chars[bisect_right(chars, after) :][:1]


@lru_cache(_CACHED_FITTING_CHARS)
def _list_fitting_chars(first: str) -> str:
    """Return the characters whose skeleton begins with `first`, and all marks, sorted."""
    by_first = _chars_by_first()
    chars = {first, *by_first[""], *by_first.get(first, ())} - {""}
    lead = ord(first or " ") - _LEAD_BASE
    if 0 <= lead <= (_LAST_SYLLABLE - _SYLLABLE_BASE) // _SYLLABLES_PER_LEAD:
        start = _SYLLABLE_BASE + lead * _SYLLABLES_PER_LEAD
        chars.update(map(chr, range(start, start + _SYLLABLES_PER_LEAD)))
    return "".join(sorted(chars))


@cache
def _chars_by_first() -> dict[str, list[str]]:
    table = _load_table()
    chars = {"": [_IOTA, *table.marks]}
    for char, folded in table.fold.items():
        chars.setdefault(strip_marks(folded)[:1], []).append(char)
    return chars


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
    place = code - _SYLLABLE_BASE
    trail = place % _SYLLABLES_PER_VOWEL
    letters = [
        _LEAD_BASE + place // _SYLLABLES_PER_LEAD,
        _VOWEL_BASE + place % _SYLLABLES_PER_LEAD // _SYLLABLES_PER_VOWEL,
    ]
    return "".join(map(chr, [*letters, _TRAIL_BASE + trail] if trail else letters))
