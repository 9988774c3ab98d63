"""Regular expressions that are compiled on first use.

Compiling one takes longer than importing a small module, and most calls need few of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import AnyStr


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> Callable[[], re.Pattern[AnyStr]]:
    """Return a function that returns the compiled expression."""
    return cache(partial(re.compile, pattern, flags))
