"""The settings of the seed, from the environment."""

from __future__ import annotations

import os

from ...errors import InvalidInput, printable_text

ENABLED_VARIABLE = "SKILL_EVOLUTION_ENABLED"
THRESHOLD_VARIABLE = "SKILL_PATTERN_THRESHOLD"
DEFAULT_THRESHOLD = 5
_MAX_THRESHOLD = 1_000_000
_FALSE_WORDS = ("false", "0", "no", "off")


def is_enabled() -> bool:
    """Tell whether patterns are recorded and made into skills: unless the user says no."""
    return os.environ.get(ENABLED_VARIABLE, "").strip().lower() not in _FALSE_WORDS


def read_threshold() -> int:
    """Return how many messages make a pattern. Raises `InvalidInput` (`bad_setting`)."""
    text = os.environ.get(THRESHOLD_VARIABLE, "").strip()
    if not text:
        return DEFAULT_THRESHOLD
    if text.isascii() and text.isdecimal() and 1 <= int(text[:12]) <= _MAX_THRESHOLD:
        return int(text)
    raise InvalidInput(
        f"{THRESHOLD_VARIABLE} is {printable_text(text, 40)!r}",
        code="bad_setting",
        hint=f"set it to a number from 1 to {_MAX_THRESHOLD}, or leave it out",
    )
