"""Suggests the names closest to one that does not exist, fast also among very many."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from heapq import nlargest
from operator import itemgetter

_MAX_COMPARED = 64
"""Names compared letter by letter: those that share the most pairs of letters."""
_MAX_NAME_CHARS = 256
"""Characters of a name that are compared."""


def suggest_names(
    wanted: str, names: Iterable[str], limit: int = 3, cutoff: float = 0.6
) -> list[str]:
    """Return the names most like `wanted`, the best first; see `difflib.get_close_matches`."""
    from difflib import get_close_matches

    text = wanted[:_MAX_NAME_CHARS]
    scored = nlargest(_MAX_COMPARED, _score_shared_pairs(text, names), key=itemgetter(0))
    return get_close_matches(text, [name for _, name in scored], limit, cutoff)


def _score_shared_pairs(text: str, names: Iterable[str]) -> Iterator[tuple[float, str]]:
    """Yield names that share pairs of letters with `text`, each with a score."""
    pairs = {text[at : at + 2] for at in range(len(text) - 1)} or {text}
    found = re.compile("|".join(map(re.escape, pairs)), re.DOTALL).findall
    for name in names:
        shared = len(found(name))
        if shared:
            yield shared / (1 + len(name) + len(text)), name
