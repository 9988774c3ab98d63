"""Uses of skills, and what is counted of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..digest import NO_DIGEST
from ..errors import printable_text
from .latency import EMPTY_HISTOGRAM, add_duration, estimate_quantile

USE_OUTCOMES = ("success", "failure", "unknown")
"""How a use ended; "unknown" counts as a use, and as neither success nor failure."""
MAX_FAILURE_CHARS = 200
"""Characters of the text that is kept of the last failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillUse:
    """One use of a version of a skill.

    `path` is the full path of its SKILL.md, and `version` "" if unknown. `program` is the id of
    the program that ran, 32 bytes, empty if the skill was only read. `at` is the time of the end
    in ms since 1970, UTC; `took` is the duration in ms, None if it was not measured. `failure`
    says in a line what failed.
    """

    path: str
    version: str
    program: bytes = NO_DIGEST
    outcome: str
    at: int
    took: int | None = None
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageCounts:
    """What is counted of one version of a skill, with one program.

    Times are in ms since 1970, UTC, durations in ms. `consecutive_failures` are those since the
    last success. `timed` uses were measured: `took_total` and `took_max` are of these, and
    `histogram` has them by duration (see `latency`). `failed_at` and `failure` are of the last
    failure, 0 and "" without one.
    """

    path: str
    version: str
    program: bytes = NO_DIGEST
    uses: int = 0
    successes: int = 0
    failures: int = 0
    consecutive_failures: int = 0
    timed: int = 0
    took_total: int = 0
    took_max: int = 0
    histogram: tuple[int, ...] = EMPTY_HISTOGRAM
    failed_at: int = 0
    failure: str = ""
    first_use: int = 0
    last_use: int = 0

    @property
    def median(self) -> int:
        """The median duration in ms, 0 if none was measured."""
        return self.quantile(0.5)

    @property
    def p95(self) -> int:
        """The duration in ms that 95 % of the uses do not exceed, 0 if none was measured."""
        return self.quantile(0.95)

    def quantile(self, share: float) -> int:
        """Return the duration in ms that a `share` (0 to 1) of the uses do not exceed."""
        return min(estimate_quantile(self.histogram, share), self.took_max)


def add_use(counts: UsageCounts, use: SkillUse) -> UsageCounts:
    """Return the counts with one more use."""
    failed, succeeded = use.outcome == "failure", use.outcome == "success"
    counted = replace(
        counts,
        uses=counts.uses + 1,
        successes=counts.successes + succeeded,
        failures=counts.failures + failed,
        consecutive_failures=0 if succeeded else counts.consecutive_failures + failed,
        first_use=min(counts.first_use, use.at) if counts.uses else use.at,
        last_use=max(counts.last_use, use.at),
    )
    if failed:
        text = printable_text(" ".join(use.failure.split()), MAX_FAILURE_CHARS - 1)
        counted = replace(counted, failed_at=use.at, failure=text[:MAX_FAILURE_CHARS])
    if use.took is None:
        return counted
    took = max(use.took, 0)
    return replace(
        counted,
        timed=counts.timed + 1,
        took_total=counts.took_total + took,
        took_max=max(counts.took_max, took),
        histogram=add_duration(counts.histogram, took),
    )
