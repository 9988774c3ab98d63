"""Names that are near one that is not there, quickly also among very many."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from heapq import nlargest
from operator import itemgetter

_COMPARED = 64
"""Names that are compared letter by letter: those that share the most pairs of letters."""
_LONGEST = 256
"""Characters of a name that are looked at."""


def closest(wanted: str, names: Iterable[str], most: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return the names most like `wanted`, the best first; see `difflib.get_close_matches`."""
    from difflib import get_close_matches

    text = wanted[:_LONGEST]
    scored = nlargest(_COMPARED, _sharing(text, names), key=itemgetter(0))
    return get_close_matches(text, [name for _, name in scored], most, cutoff)


def _sharing(text: str, names: Iterable[str]) -> Iterator[tuple[float, str]]:
    """Yield names that share pairs of letters, each with how many, less for longer names."""
    pairs = {text[at : at + 2] for at in range(len(text) - 1)} or {text}
    found = re.compile("|".join(map(re.escape, pairs)), re.DOTALL).findall
    for name in names:
        shared = len(found(name))
        if shared:
            yield shared / (1 + len(name) + len(text)), name
