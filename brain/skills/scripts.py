"""Scripts of letters, by tables of our own, so that every Python says the same.

What a script may stand beside in one word follows UTS 39 ("highly restrictive"): one
script, or Latin with what Chinese, Japanese and Korean are written in.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from functools import cache

UNKNOWN = "Zzzz"
COMMON = "Zyyy"
INHERITED = "Zinh"
LATIN = "Latn"
_TOGETHER = (
    frozenset((LATIN, "Hani", "Hira", "Kana")),
    frozenset((LATIN, "Hani", "Bopo")),
    frozenset((LATIN, "Hani", "Hang")),
)
_ENGLISH = (
    "Latn Latin Grek Greek Cyrl Cyrillic Armn Armenian Hebr Hebrew Arab Arabic Cher Cherokee "
    "Deva Devanagari Geor Georgian Copt Coptic Ethi Ethiopic Thai Thai Lisu Lisu "
    "Hani Han Hira Hiragana Kana Katakana Hang Hangul Bopo Bopomofo"
).split()
_NAMES = dict(zip(_ENGLISH[::2], _ENGLISH[1::2], strict=True))
_LIKE_LATIN = (
    "аaсcԁdеeһhіiјjӏlоoрpԛqѕsѵvԝwхxуyүyАAВBЕEЅSІIЈJКKМMНHОOРPСCТTХXУYҮYҺhԌGԚQԜWӀI"
    "αaγyιiκkνvοoρpσoτtυuχxϲcϳjΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXϹCͿJ"
    "ոnօoսuցgհhքpՕOՏSԼLᎪAᏴBᏟCᎠDᎬEᏀGᎻHᎫJᏦKᏞLᎷMᏢPᏚSᎢTᏙVᎳWᏃZⲟoⲢPꓮAꓐBꓚCꓓDꓰEꓳOꓑPꓢSꓔT"
)
"""Letters of other scripts, each with the Latin one that it looks like (of UTS 39)."""


def script(char: str) -> str:
    """Return the script of a character, by its code of ISO 15924; `UNKNOWN` if unassigned."""
    starts, scripts = _table()
    return scripts[bisect_right(starts, ord(char)) - 1]


def is_mark(char: str) -> bool:
    """Tell whether a character stands above, below or around the one before it."""
    return _within(_marks(), char)


def settled(text: str) -> str:
    """Return `text` with U+FFFD for what Unicode 14 has not assigned.

    What is left has one decomposition and one case in every later version of Unicode,
    by its policy of stability, and so under every Python.
    """
    if text.isascii():
        return text
    return "".join(char if char.isascii() or _is_settled(char) else "\ufffd" for char in text)


def named(code: str) -> str:
    """Return the English name of a script, its code for a rare one."""
    return _NAMES.get(code, code)


def mixed(text: str) -> list[str]:
    """Return the letters that stand among those of another script, each once.

    A word has one script, or those that one language is written in. Words of other scripts
    may stand beside Latin ones, unless every letter of them looks like a Latin one.
    """
    if text.isascii():
        return []
    found: list[str] = []
    words = _words(text)
    every = [(char, script(char)) for word in words for char in word]
    for word in words:
        scripts = {script(char) for char in word} - {INHERITED}
        if len(scripts) > 1 and not any(scripts <= some for some in _TOGETHER):
            found += _strangers(word)
    others = [char for char, code in every if code not in (LATIN, INHERITED)]
    if len(others) < len(every) and all(char in _like_latin() for char in others):
        found += others
    return list(dict.fromkeys(found))


def as_latin(text: str) -> str:
    """Return `text` with each letter that looks like a Latin one as that one."""
    return text if text.isascii() else "".join(_like_latin().get(char, char) for char in text)


def _strangers(word: str) -> list[str]:
    """Return the letters that are not Latin, or not of the script that most letters are of."""
    codes = [code for code in map(script, word) if code != INHERITED]
    home = LATIN if LATIN in codes else Counter(codes).most_common(1)[0][0]
    return [char for char in word if script(char) not in (home, INHERITED)]


def _words(text: str) -> list[str]:
    """Return the runs of letters, with the marks on them; a digit may stand among them."""
    chars = [char if script(char) not in (COMMON, UNKNOWN) else " " for char in text]
    return "".join(chars).split(" ")


def _is_settled(char: str) -> bool:
    return script(char) != UNKNOWN and not _within(_since(), char)


def _within(ranges: tuple[list[int], list[int]], char: str) -> bool:
    firsts, lasts = ranges
    at = bisect_right(firsts, ord(char)) - 1
    return at >= 0 and ord(char) <= lasts[at]


@cache
def _table() -> tuple[list[int], list[str]]:
    from . import unicode_tables  # which only names beyond ASCII need

    runs = unicode_tables.SCRIPTS.split()
    return [int(run[:-4], 16) for run in runs], [run[-4:] for run in runs]


@cache
def _since() -> tuple[list[int], list[int]]:
    from . import unicode_tables

    return _ranges(unicode_tables.SINCE)


@cache
def _marks() -> tuple[list[int], list[int]]:
    from . import unicode_tables

    return _ranges(unicode_tables.MARKS)


def _ranges(text: str) -> tuple[list[int], list[int]]:
    pairs = [found.partition("-") for found in text.split()]
    return [int(first, 16) for first, _, _ in pairs], [int(last, 16) for _, _, last in pairs]


@cache
def _like_latin() -> dict[str, str]:
    return dict(zip(_LIKE_LATIN[::2], _LIKE_LATIN[1::2], strict=True))
