"""Regular expressions that are compiled on first use.

Most texts need none of them, and compiling all takes ten times as long as scanning a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial

LazyPattern = Callable[[], re.Pattern[bytes]]


def lazy_pattern(pattern: bytes, flags: int = 0) -> LazyPattern:
    """Return a function that returns the compiled expression."""
    return cache(partial(re.compile, pattern, flags))
