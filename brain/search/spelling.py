"""Corrects words that no skill has and that are one typing mistake from a known one."""

from __future__ import annotations

from collections.abc import Iterator

from .full_text import FullTextIndex

MIN_CORRECTED_CHARS = 5
"""Fewest letters of a corrected word; shorter ones resemble too many others."""
_MAX_CORRECTED_CHARS = 24
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def correct_word(index: FullTextIndex, word: str) -> str | None:
    """Return the word one edit from `word` whose stem most skills have, None without one.

    Ties are broken alphabetically.
    """
    if not (
        MIN_CORRECTED_CHARS <= len(word) <= _MAX_CORRECTED_CHARS
        and word.isascii()
        and word.isalpha()
    ):
        return None
    candidates = sorted(set(_edit_candidates(word)))
    stem_of = dict(zip(candidates, index.stem_words(" ".join(candidates)), strict=True))
    counts = index.count_documents(sorted(set(stem_of.values())))
    known_words = [word for word in candidates if stem_of[word] in counts]
    return min(known_words, key=lambda word: (-counts[stem_of[word]], word), default=None)


def _edit_candidates(word: str) -> Iterator[str]:
    """Yield the words one deletion, insertion, replacement or transposition away.

    The first letter is seldom wrong, and stays.
    """
    for at in range(1, len(word)):
        head, right = word[:at], word[at:]
        yield head + right[1:]
        if len(right) > 1:
            yield head + right[1] + right[0] + right[2:]
        for letter in _ALPHABET:
            yield head + letter + right[1:]
            yield head + letter + right
    for letter in _ALPHABET:
        yield word + letter
