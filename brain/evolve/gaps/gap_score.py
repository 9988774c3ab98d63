"""Score a failed goal by its failures, its error and the agent's own reflections.

    score = 0.6 * min(1, failures / 3) + 0.2 * [error keyword] + 0.2 * [reflection keyword]

All of it is in percent, in whole numbers, so that the comparison with the threshold is exact.
"""

from __future__ import annotations

import re
from typing import NamedTuple

THRESHOLD_PERCENT = 50
"""A gap is attempted above this score; not at it."""
FULL_FAILURES = 3
"""Consecutive failures that give the whole weight of the first signal."""
_FAILURE_PERCENT = 20
"""The weight of one failure: 60 % divided by `FULL_FAILURES`."""
_SIGNAL_PERCENT = 20
MAX_SCANNED_CHARS = 4_000
"""Characters of an error or a reflection that are looked at."""

ERROR_KEYWORDS = (
    "importerror",
    "modulenotfounderror",
    "attributeerror",
    "nameerror",
    "notimplementederror",
    "not found",
    "no skill registered",
    "not registered",
    "disabled",
    "not enabled",
)
"""Words of an error that an agent gets which lacks something; in any case, as whole words."""
_ERROR_KEYWORD = re.compile(
    rf"(?<![^\W_])(?:{'|'.join(map(re.escape, ERROR_KEYWORDS))})(?![^\W_])", re.IGNORECASE
)

_NOUN = r"(?:tools?|skills?|capabilit(?:y|ies))"
_LACK = re.compile(
    rf"\b(?:no|missing|lack|lacks|lacking)(?: an?| the)? {_NOUN}\b"
    r"(?! (?:(?:was|were|is|are) )?(?:needed|required|necessary|used))",
    re.IGNORECASE,
)
"""Such as "no tool" and "missing skill", but not "no tool was needed"."""
_NEGATED = re.compile(
    r"(?:^|[.;:!?\n]\s*|\b(?:i|we|agent|assistant)\b(?: \w+){0,2}? )"
    r"(?:cannot|can't|can not|unable to|not able to)(?= (\w+))",
    re.IGNORECASE,
)
"""The agent says of itself, or without a subject, that it is not able to do something."""
_IDIOMS = frozenset(
    """
    agree be believe complain deny emphasise emphasize exaggerate fault guarantee help imagine
    overstate promise recommend rule say stress thank think wait
    """.split()
)
"""Verbs behind "cannot" by which an agent praises, hedges or waits, and lacks nothing."""
_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|(?<!\w)'[^'\n]*'(?!\w)"
    r"|^[ \t]*>[^\n]*|^(?: {4}|\t)[^\n]*",
    re.DOTALL | re.MULTILINE,
)


class GapScore(NamedTuple):
    """A score in percent, and the signals that it was made from."""

    percent: int
    failures: int
    has_error_keyword: bool
    has_reflection_keyword: bool

    @property
    def is_due(self) -> bool:
        """Whether the gap is worth an attempt."""
        return is_above_threshold(self.percent)


def score_signals(failures: int, in_error: bool, in_reflections: bool) -> GapScore:
    """Return the score of a goal whose texts were looked at when they were reported."""
    percent = (
        _FAILURE_PERCENT * min(max(failures, 0), FULL_FAILURES)
        + _SIGNAL_PERCENT * in_error
        + _SIGNAL_PERCENT * in_reflections
    )
    return GapScore(percent, failures, in_error, in_reflections)


def is_above_threshold(percent: int) -> bool:
    """Tell whether a score is above the threshold."""
    return percent > THRESHOLD_PERCENT


def format_score(percent: int) -> str:
    """Return a score as a decimal number, such as 0.60."""
    return f"{percent // 100}.{percent % 100:02d}"


def has_error_keyword(error: str) -> bool:
    """Tell whether an error says that something is missing or turned off."""
    return _ERROR_KEYWORD.search(error[:MAX_SCANNED_CHARS]) is not None


def has_reflection_keyword(reflection: str) -> bool:
    """Tell whether an agent says that it lacks a tool or is not able to do something.

    What it only quotes does not count: text in quotation marks, code, and quoted lines.
    """
    said = _QUOTED.sub(" … ", reflection[:MAX_SCANNED_CHARS])
    if _LACK.search(said):
        return True
    return any(found[1].lower() not in _IDIOMS for found in _NEGATED.finditer(said))
