"""Decide from counted uses whether a version of a skill stays; pure.

A version is degraded after `DEGRADED_AFTER` failures in a row; a success begins a new count. A
degraded version is replaced by the last earlier one that did better, and retired if none did.

"Better" compares the shares of successes by their score intervals at the level 95 %: the lower
bound of the earlier version lies above the upper bound of the present one. E. B. Wilson,
"Probable Inference, the Law of Succession, and Statistical Inference", Journal of the American
Statistical Association 22 (1927), pages 209 to 212. An earlier version needs `MIN_TRIALS`
uses with a known outcome.

The rule for retirement, "3 failures, or 5 with fewer than 10 uses", counts failures in a row, so
that its second part never decides: 5 in a row are 3 before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

DEGRADED_AFTER = 3
"""Failures in a row after which a version is degraded."""
MIN_TRIALS = 5
"""Uses with a known outcome that an earlier version must have to be brought back."""
CONFIDENCE_Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution: two-sided intervals of 95 %."""


class Interval(NamedTuple):
    """The bounds of a share, from 0 to 1."""

    low: float
    high: float


def wilson_interval(successes: int, trials: int, z: float = CONFIDENCE_Z) -> Interval:
    """Return the Wilson score interval of `successes` out of `trials`; (0, 1) without trials."""
    if not trials:
        return Interval(0.0, 1.0)
    share = successes / trials
    spread = z * z / trials
    middle = share + spread / 2
    half = z * sqrt(share * (1 - share) / trials + spread / trials / 4)
    low = (middle - half) / (1 + spread) if successes else 0.0
    high = (middle + half) / (1 + spread) if successes < trials else 1.0
    return Interval(max(low, 0.0), min(high, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionUsage:
    """How one version of a skill did.

    `content` identifies what was used: the program id, or the blob id of a skill without a
    program; it is equal for a version and for a later one that brought it back. `can_return`
    says whether the version may be brought back: a program must have been admitted.
    """

    version: str
    content: bytes
    uses: int = 0
    successes: int = 0
    failures: int = 0
    consecutive_failures: int = 0
    can_return: bool = True

    @property
    def interval(self) -> Interval:
        """The bounds of its share of successes."""
        return wilson_interval(self.successes, self.successes + self.failures)

    @property
    def is_degraded(self) -> bool:
        """Whether it failed too often in a row."""
        return self.consecutive_failures >= DEGRADED_AFTER


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do with the present version of a skill.

    `action` is "keep", "degraded" (it is, but stays, for it is protected), "roll_back" to the
    version `to`, or "retire". `present` is the judged version, None for a skill without any.
    """

    action: str
    present: VersionUsage | None = None
    to: VersionUsage | None = None


ACTIONS = ("keep", "degraded", "roll_back", "retire")
"""The actions of a decision."""


def judge(versions: Sequence[VersionUsage], *, protected: bool) -> Decision:
    """Decide about the last of `versions`, which are all versions of a skill, oldest first.

    What a person wrote or pinned is `protected`: nothing is done with it.
    """
    if not versions:
        return Decision(action="keep")
    present = versions[-1]
    if not present.is_degraded:
        return Decision(action="keep", present=present)
    if protected:
        return Decision(action="degraded", present=present)
    better = _find_better(versions)
    if better is None:
        return Decision(action="retire", present=present)
    return Decision(action="roll_back", present=present, to=better)


def _find_better(versions: Sequence[VersionUsage]) -> VersionUsage | None:
    """Return the last version that did better than the present one.

    Content that was brought back once and failed again is not brought back another time, so
    that two versions cannot replace each other for ever.
    """
    *earlier, present = versions
    failed_again = {present.content}
    for version in reversed(earlier):
        is_candidate = version.can_return and version.content not in failed_again
        is_known = version.successes + version.failures >= MIN_TRIALS
        if is_candidate and is_known and version.interval.low > present.interval.high:
            return version
        if version.is_degraded:
            failed_again.add(version.content)
    return None
