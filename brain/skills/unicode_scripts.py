"""Scripts of letters, by built-in tables, so that every version of Python agrees.

The scripts that one word may mix follow UTS 39 ("highly restrictive"): one script, or
Latin with the scripts of Chinese, Japanese or Korean.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from functools import cache

UNKNOWN_SCRIPT = "Zzzz"
COMMON_SCRIPT = "Zyyy"
INHERITED_SCRIPT = "Zinh"
LATIN_SCRIPT = "Latn"
_ALLOWED_COMBINATIONS = (
    frozenset((LATIN_SCRIPT, "Hani", "Hira", "Kana")),
    frozenset((LATIN_SCRIPT, "Hani", "Bopo")),
    frozenset((LATIN_SCRIPT, "Hani", "Hang")),
)
_ENGLISH_NAMES = (
    "Latn Latin Grek Greek Cyrl Cyrillic Armn Armenian Hebr Hebrew Arab Arabic Cher Cherokee "
    "Deva Devanagari Geor Georgian Copt Coptic Ethi Ethiopic Thai Thai Lisu Lisu "
    "Hani Han Hira Hiragana Kana Katakana Hang Hangul Bopo Bopomofo"
).split()
_NAME_BY_CODE = dict(zip(_ENGLISH_NAMES[::2], _ENGLISH_NAMES[1::2], strict=True))
_LATIN_CONFUSABLE_PAIRS = (
    "аaсcԁdеeһhіiјjӏlоoрpԛqѕsѵvԝwхxуyүyАAВBЕEЅSІIЈJКKМMНHОOРPСCТTХXУYҮYҺhԌGԚQԜWӀI"
    "αaγyιiκkνvοoρpσoτtυuχxϲcϳjΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXϹCͿJ"
    "ոnօoսuցgհhքpՕOՏSԼLᎪAᏴBᏟCᎠDᎬEᏀGᎻHᎫJᏦKᏞLᎷMᏢPᏚSᎢTᏙVᎳWᏃZⲟoⲢPꓮAꓐBꓚCꓓDꓰEꓳOꓑPꓢSꓔT"
)
"""Letters of other scripts, each with the Latin one that it resembles (from UTS 39)."""


def script_code(char: str) -> str:
    """Return the ISO 15924 code of a character's script; `UNKNOWN_SCRIPT` if unassigned."""
    starts, scripts = _script_table()
    return scripts[bisect_right(starts, ord(char)) - 1]


def is_combining_mark(char: str) -> bool:
    """Tell whether a character combines with the one before it."""
    return _is_in_ranges("marks", char)


def replace_unassigned(text: str) -> str:
    """Return `text` with U+FFFD for code points that Unicode 14 has not assigned.

    The others have one decomposition and one case in every later version of Unicode, by
    its stability policy, and so under every Python.
    """
    if text.isascii():
        return text
    return "".join(char if char.isascii() or _is_stable(char) else "\ufffd" for char in text)


def script_name(code: str) -> str:
    """Return the English name of a script, its code for a rare one."""
    return _NAME_BY_CODE.get(code, code)


def find_mixed_letters(text: str) -> list[str]:
    """Return the letters of a foreign script in each word, without duplicates.

    A word has one script, or those of one written language. Words of other scripts may
    occur next to Latin ones, unless all their letters resemble Latin letters.
    """
    if text.isascii():
        return []
    found: list[str] = []
    words = _split_letter_runs(text)
    every = [(char, script_code(char)) for word in words for char in word]
    for word in words:
        scripts = {script_code(char) for char in word} - {INHERITED_SCRIPT}
        if len(scripts) > 1 and not any(scripts <= some for some in _ALLOWED_COMBINATIONS):
            found += _find_foreign_letters(word)
    others = [char for char, code in every if code not in (LATIN_SCRIPT, INHERITED_SCRIPT)]
    if len(others) < len(every) and all(char in _latin_confusables() for char in others):
        found += others
    return list(dict.fromkeys(found))


def map_confusables_to_latin(text: str) -> str:
    """Return `text` with each letter that resembles a Latin one replaced by it."""
    if text.isascii():
        return text
    return "".join(_latin_confusables().get(char, char) for char in text)


def _find_foreign_letters(word: str) -> list[str]:
    """Return the letters that are not Latin, or not in the most frequent script."""
    codes = [code for code in map(script_code, word) if code != INHERITED_SCRIPT]
    home = LATIN_SCRIPT if LATIN_SCRIPT in codes else Counter(codes).most_common(1)[0][0]
    return [char for char in word if script_code(char) not in (home, INHERITED_SCRIPT)]


def _split_letter_runs(text: str) -> list[str]:
    """Return the runs of letters with their marks; digits may be among them."""
    no_letters = (COMMON_SCRIPT, UNKNOWN_SCRIPT)
    return "".join(char if script_code(char) not in no_letters else " " for char in text).split(" ")


def _is_stable(char: str) -> bool:
    return script_code(char) != UNKNOWN_SCRIPT and not _is_in_ranges("since_unicode_14", char)


def _is_in_ranges(table: str, char: str) -> bool:
    firsts, lasts = _load_ranges(table)
    at = bisect_right(firsts, ord(char)) - 1
    return at >= 0 and ord(char) <= lasts[at]


@cache
def _load_tables() -> dict[str, str]:
    """Return the tables in `unicode_tables.json`, which only names beyond ASCII need.

    `scripts` are the first code points of runs of one script, `since_unicode_14` the ranges
    that were assigned after Unicode 14, and `marks` the nonspacing and enclosing marks of it.
    """
    import json
    from pathlib import Path

    tables: dict[str, str] = json.loads(
        Path(__file__).with_name("unicode_tables.json").read_bytes()
    )
    return tables


@cache
def _script_table() -> tuple[list[int], list[str]]:
    runs = _load_tables()["scripts"].split()
    return [int(run[:-4], 16) for run in runs], [run[-4:] for run in runs]


@cache
def _load_ranges(table: str) -> tuple[list[int], list[int]]:
    pairs = [text.partition("-") for text in _load_tables()[table].split()]
    return [int(first, 16) for first, _, _ in pairs], [int(last, 16) for _, _, last in pairs]


@cache
def _latin_confusables() -> dict[str, str]:
    return dict(zip(_LATIN_CONFUSABLE_PAIRS[::2], _LATIN_CONFUSABLE_PAIRS[1::2], strict=True))
