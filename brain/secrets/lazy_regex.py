"""Regular expressions compiled when they are first needed.

Most texts hold nothing that one is tried on, and compiling all of them takes ten times as
long as looking through such a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial

LazyPattern = Callable[[], re.Pattern[bytes]]


def lazy_pattern(pattern: bytes, flags: int = 0) -> LazyPattern:
    """Return what returns the compiled expression."""
    return cache(partial(re.compile, pattern, flags))
