"""Text of small values: patterns compiled on first use, similar names, money, the user's name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from operator import itemgetter
from typing import AnyStr


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> Callable[[], re.Pattern[AnyStr]]:
    """Return a function that returns the compiled expression."""
    return cache(partial(re.compile, pattern, flags))


_MAX_COMPARED = 64
"""Names compared letter by letter: those that share the most pairs of letters."""
_MAX_NAME_CHARS = 256
"""Characters of a name that are compared."""


def suggest_names(
    wanted: str, names: Iterable[str], limit: int = 3, cutoff: float = 0.6
) -> list[str]:
    """Return the names most like `wanted`, the best first; see `difflib.get_close_matches`."""
    from difflib import get_close_matches
    from heapq import nlargest

    text = wanted[:_MAX_NAME_CHARS]
    scored = nlargest(_MAX_COMPARED, _score_shared_pairs(text, names), key=itemgetter(0))
    return get_close_matches(text, [name for _, name in scored], limit, cutoff)


def _score_shared_pairs(text: str, names: Iterable[str]) -> Iterator[tuple[float, str]]:
    pairs = {text[at : at + 2] for at in range(len(text) - 1)} or {text}
    found = re.compile("|".join(map(re.escape, pairs)), re.DOTALL).findall
    for name in names:
        shared = len(found(name))
        if shared:
            yield shared / (1 + len(name) + len(text)), name


def login_name() -> str:
    """Return the name the user logged in with, "brain" if there is none.

    As `getpass.getuser`, whose import takes a millisecond, much of it for terminals.
    """
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        if name := os.environ.get(variable):
            return name
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError, OSError):
        return "brain"


MILLION = 1_000_000


def parse_money(text: str) -> int:
    """Return the millionths of an amount, with up to six decimals, as in 2.50; -1 for none."""
    whole, dot, part = text.partition(".")
    digits = whole + part
    is_amount = text.isascii() and whole.isdigit() and digits.isdigit() and bool(part) == bool(dot)
    if not is_amount or len(whole) > 9 or len(part) > 6:
        return -1
    return int(whole) * MILLION + int(part.ljust(6, "0"))
