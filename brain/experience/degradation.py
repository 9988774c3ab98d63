"""Decide from counted uses whether a version of a skill stays; pure.

A use counts by its input: however often one input fails, it is one failure. Of the inputs that a
version was used with last, the last outcome of each counts (`UsageCounts.trials`).

A version that failed with `MIN_FAILED` inputs is replaced by the last earlier one that did better.
It is retired if none did and it fails too often: the share of successes lies below `TOO_LOW` at the
level 95 %. "Better" compares the shares by their score intervals at that level: the lower bound of
the earlier version lies above the upper bound of the present one. E. B. Wilson, "Probable
Inference, the Law of Succession, and Statistical Inference", Journal of the American Statistical
Association 22 (1927), pages 209 to 212. An earlier version needs `MIN_TRIALS` inputs.

A new version that fails with its first three inputs is so retired, as by the rule "3 failures in a
row"; one that succeeded with all of 32 needs 19 that fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

from .usage import UsageCounts

MIN_FAILED = 3
"""Inputs that a version must fail with before anything is done."""
TOO_LOW = 0.6
"""The share of successes that a version must be able to have to stay. 0 of 3 can have 0.56."""
MIN_TRIALS = 5
"""Inputs with a known outcome that an earlier version must have to be brought back."""
CONFIDENCE_Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution: two-sided intervals of 95 %."""


class Interval(NamedTuple):
    """The bounds of a share, from 0 to 1."""

    low: float
    high: float


def wilson_interval(successes: int, trials: int) -> Interval:
    """Return the Wilson score interval of `successes` out of `trials`; (0, 1) without trials."""
    if not trials:
        return Interval(0.0, 1.0)
    share, z = successes / trials, CONFIDENCE_Z
    spread = z * z / trials
    middle = share + spread / 2
    half = z * sqrt(share * (1 - share) / trials + spread / trials / 4)
    low = (middle - half) / (1 + spread) if successes else 0.0
    high = (middle + half) / (1 + spread) if successes < trials else 1.0
    return Interval(max(low, 0.0), min(high, 1.0))


def find_interval(counts: UsageCounts) -> Interval:
    """Return the bounds of the share of successes of a version."""
    return wilson_interval(counts.trials[0], sum(counts.trials))


def is_degraded(counts: UsageCounts) -> bool:
    """Tell whether a version fails too often to stay."""
    return counts.trials[1] >= MIN_FAILED and find_interval(counts).high < TOO_LOW


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do with the present version of a skill.

    `action` is "keep", "degraded" (a rule would act, but it is protected), "roll_back" to the
    version `to`, or "retire". `present` is the judged version, None for a skill without any, and
    `protection` why it is protected, "" if it is not.
    """

    action: str
    present: UsageCounts | None = None
    to: UsageCounts | None = None
    protection: str = ""


ACTIONS = ("keep", "degraded", "roll_back", "retire")
"""The actions of a decision."""


def judge(versions: Sequence[UsageCounts], *, protected: bool) -> Decision:
    """Decide about the last of `versions`, which are all versions of a skill, oldest first.

    What a person wrote or pinned is `protected`: nothing is done with it.
    """
    if not versions:
        return Decision(action="keep")
    present = versions[-1]
    better = _find_better(versions) if present.trials[1] >= MIN_FAILED else None
    if better is None and not is_degraded(present):
        return Decision(action="keep", present=present)
    if protected:
        return Decision(action="degraded", present=present)
    if better is None:
        return Decision(action="retire", present=present)
    return Decision(action="roll_back", present=present, to=better)


def _find_better(versions: Sequence[UsageCounts]) -> UsageCounts | None:
    """Return the last version that did better than the present one.

    Of content that was used under several versions the last one counts: what was brought back and
    failed again is not brought back another time, so that two versions cannot replace each other
    for ever.
    """
    *earlier, present = versions
    judged = {present.content}
    for version in reversed(earlier):
        is_known = sum(version.trials) >= MIN_TRIALS
        if version.content in judged or not (is_known or version.trials[1] >= MIN_FAILED):
            continue
        did_better = find_interval(version).low > find_interval(present).high
        if version.can_return and is_known and did_better:
            return version
        judged.add(version.content)
    return None
