"""Words that nobody has, read as the words they are one mistake of typing away from."""

from __future__ import annotations

from collections.abc import Iterator

from ..store.full_text_index import FullTextIndex

MIN_CORRECTED_CHARS = 5
"""Letters of a word that is corrected; shorter ones are near to too many others."""
_MAX_CORRECTED_CHARS = 24
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def correct_word(index: FullTextIndex, word: str) -> str | None:
    """Return the word near to `word` whose stem most skills have, None if there is none.

    Among equals it is the first of the alphabet.
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
    known = [one for one in candidates if stem_of[one] in counts]
    return min(known, key=lambda one: (-counts[stem_of[one]], one)) if known else None


def _edit_candidates(word: str) -> Iterator[str]:
    """Yield what one letter left out, too many, another or two in the other order make of it.

    The first letter is seldom wrong, and stays.
    """
    for at in range(1, len(word)):
        left, right = word[:at], word[at:]
        yield left + right[1:]
        if len(right) > 1:
            yield left + right[1] + right[0] + right[2:]
        for letter in _ALPHABET:
            yield left + letter + right[1:]
            yield left + letter + right
    for letter in _ALPHABET:
        yield word + letter
