"""Distinguish random keys and passwords from words by their character classes."""

from __future__ import annotations

from itertools import pairwise

from ..util.text import lazy_pattern

_VALUE_PART = lazy_pattern(rb"[^-_./:@=]+")


def _byte_class(code: int) -> int:
    letter = bytes([code])
    if letter.isdigit():
        return ord("0")
    if letter.islower():
        return ord("a")
    return ord("A") if letter.isupper() else ord("!")


_BYTE_CLASSES = bytes(map(_byte_class, range(256)))


_COMMON_PAIRS = frozenset(
    group[0] + second
    for group in (
        "abcdgilmnprstuy baelou caehiklortu daeios eacdefglmnprstvx faeio geir haeio "
        "iacdefglmnoprstvz ke laeilostuy maeimop nacdegiost ocdlmnoprstuvw paeiloprt qu "
        "racdeikmnorstuy sacehiopstu taehiorstuy ueilmnprst vaei wio"
    ).split()
    for second in group[1:]
)
"""Pairs of letters that are more frequent in words than by chance: "ab", "ac", …, "wo"."""
_MIN_WORD_SCORE = -0.25
"""The least score per character of words and of names in code; random values have less."""


def is_random_value(value: bytes) -> bool:
    """Tell whether a part of the value is random: no words, nor a name made of words.

    It changes its character class more often than words do, and its letters do not follow
    one another as in words.
    """
    for part in _VALUE_PART().findall(value):
        kinds = part.translate(_BYTE_CLASSES)
        changes = sum(a != b for a, b in pairwise(kinds))
        least = max(3, len(part) // 5) if b"0" in kinds else 0.45 * len(part)
        if len(part) >= 8 and changes >= least and not looks_like_words(part):
            return True
    return False


def looks_like_words(part: bytes) -> bool:
    """Tell whether letters follow one another as in words or in names such as `privateKey`."""
    text = part.decode("latin-1")
    score = 0
    for one, other in pairwise(text):
        if one.isalpha() and other.isalpha():
            if one.islower() and other.isupper():
                score -= 1
            else:
                score += 1 if (one + other).lower() in _COMMON_PAIRS else -2
        elif one.isalpha() != other.isalpha():
            score -= 2
    return score >= _MIN_WORD_SCORE * len(text)


def is_password_like(value: bytes) -> bool:
    """Tell whether a part of the value mixes letters with digits, or both cases with signs."""
    for part in _VALUE_PART().findall(value):
        kinds = set(part.translate(_BYTE_CLASSES))
        has_digit = kinds & set(b"aA") and kinds & set(b"0")
        if len(part) >= 6 and part.isascii() and (has_digit or kinds >= set(b"aA!")):
            return True
    return False
