"""What tells a secret from words: the kinds of letters in it, and how often they change."""

from __future__ import annotations

from itertools import pairwise

from .expression import expression

_PART = expression(rb"[^-_./:@=]+")


def _kind(code: int) -> int:
    letter = bytes([code])
    if letter.isdigit():
        return ord("0")
    if letter.islower():
        return ord("a")
    return ord("A") if letter.isupper() else ord("!")


_KINDS = bytes(map(_kind, range(256)))


def is_random(value: bytes) -> bool:
    """Tell whether a part of the value changes between kinds of letters as words do not."""
    for part in _PART().findall(value):
        kinds = part.translate(_KINDS)
        changes = sum(a != b for a, b in pairwise(kinds))
        least = max(3, len(part) // 5) if b"0" in kinds else 0.45 * len(part)
        if len(part) >= 8 and changes >= least:
            return True
    return False


def is_chosen(value: bytes) -> bool:
    """Tell whether a person may have chosen this as a password: letters and others in one part."""
    for part in _PART().findall(value):
        kinds = set(part.translate(_KINDS))
        if len(part) >= 6 and part.isascii() and kinds & set(b"aA") and kinds & set(b"0!"):
            return True
    return False
