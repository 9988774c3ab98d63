"""Words that nobody has, read as the words they are one mistake of typing away from."""

from __future__ import annotations

from collections.abc import Iterator

from ..store.fulltext import FullText

SHORTEST = 5
"""Letters of a word that is corrected; shorter ones are near to too many others."""
_LONGEST = 24
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def corrected(index: FullText, word: str) -> str | None:
    """Return the word near to `word` whose stem most skills have, None if there is none.

    Among equals it is the first of the alphabet.
    """
    if not (SHORTEST <= len(word) <= _LONGEST and word.isascii() and word.isalpha()):
        return None
    near = sorted(set(_near(word)))
    stem_of = dict(zip(near, index.stems(" ".join(near)), strict=True))
    counts = index.counts(sorted(set(stem_of.values())))
    known = [one for one in near if stem_of[one] in counts]
    return min(known, key=lambda one: (-counts[stem_of[one]], one)) if known else None


def _near(word: str) -> Iterator[str]:
    """Yield what one letter left out, too many, another or two in the other order make of it.

    The first letter is seldom wrong, and stays.
    """
    for at in range(1, len(word)):
        left, right = word[:at], word[at:]
        yield left + right[1:]
        if len(right) > 1:
            yield left + right[1] + right[0] + right[2:]
        for letter in _LETTERS:
            yield left + letter + right[1:]
            yield left + letter + right
    for letter in _LETTERS:
        yield word + letter
