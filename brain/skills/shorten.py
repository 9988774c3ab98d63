"""Descriptions cut to a size, never in the middle of a word."""

from __future__ import annotations

import re
from collections.abc import Callable

from .index import CUT

Measure = Callable[[str], int]
"""Tells the size of a text: `len` in characters, `size` in bytes."""

_CLAUSE = re.compile("[.,;:!?)](?= )|(?= [(–—-] )|[。、，；：！？]")
_FEWEST, _MOST = 16, 80
"""Characters that a first clause has to have, and may have, to stand for a description."""
_WORDS = 48
"""Bytes of words that stand for one where the first clause does not."""
_TRAILING = " .,;:!?-–—([{\"'“‘"


def size(text: str) -> int:
    """Return the bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def shorten(text: str, most: int, measure: Measure = size) -> str:
    """Return `text` cut after a word, with a mark, so that it measures at most `most`.

    The mark alone is left where not even the first word fits, nothing where that does not.
    """
    if measure(text) <= most:
        return text
    room = most - measure(CUT)
    if room < 0:
        return ""
    end = text.find(" ", room)
    head = (text if end < 0 else text[:end]).rstrip(_TRAILING)
    while head and measure(head) > room:
        head = head[: max(head.rfind(" "), 0)].rstrip(_TRAILING)
    if not text.isascii():
        head = max(head, _between_ideographs(text, room, measure), key=len)
    return head + CUT


def least(text: str) -> int:
    """Return the bytes that a description has to keep so that one still knows what it is for.

    Those are its first clause, or some words.
    """
    clause = _CLAUSE.search(text, _FEWEST, _MOST)
    enough = size(text[: clause.start()]) + size(CUT) if clause else _WORDS
    return min(size(text), max(size(shorten(text, enough)), size(CUT)))


def _between_ideographs(text: str, room: int, measure: Measure) -> str:
    """Return the longest beginning that ends beside an ideograph: these words have no spaces."""
    end = len(text[:room])
    while end and measure(text[:end]) > room:
        end -= 1
    while end and not (_is_ideograph(text[end - 1]) or _is_ideograph(text[end])):
        end -= 1
    return text[:end].rstrip(_TRAILING)


def _is_ideograph(character: str) -> bool:
    return "\u2e80" <= character <= "\u9fff" or "\U00020000" <= character <= "\U0003ffff"
