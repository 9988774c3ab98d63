"""Distinguish random keys and passwords from words by their character classes."""

from __future__ import annotations

from itertools import pairwise

from .lazy_regex import lazy_pattern

_VALUE_PART = lazy_pattern(rb"[^-_./:@=]+")


def _byte_class(code: int) -> int:
    letter = bytes([code])
    if letter.isdigit():
        return ord("0")
    if letter.islower():
        return ord("a")
    return ord("A") if letter.isupper() else ord("!")


_BYTE_CLASSES = bytes(map(_byte_class, range(256)))


def is_random_value(value: bytes) -> bool:
    """Tell whether a part of the value changes its character class more often than words do."""
    for part in _VALUE_PART().findall(value):
        kinds = part.translate(_BYTE_CLASSES)
        changes = sum(a != b for a, b in pairwise(kinds))
        least = max(3, len(part) // 5) if b"0" in kinds else 0.45 * len(part)
        if len(part) >= 8 and changes >= least:
            return True
    return False


def is_password_like(value: bytes) -> bool:
    """Tell whether a part of the value mixes letters with digits or signs, as passwords do."""
    for part in _VALUE_PART().findall(value):
        kinds = set(part.translate(_BYTE_CLASSES))
        if len(part) >= 6 and part.isascii() and kinds & set(b"aA") and kinds & set(b"0!"):
            return True
    return False
