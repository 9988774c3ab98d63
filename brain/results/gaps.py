"""Results about gaps: goals that fail, attempts to learn from them, and their audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from .evolution import GateOutcome


class FailedGoal(NamedTuple):
    """A goal that failed since it last succeeded; `score` is a text such as 0.60.

    `next` says what would happen to it now. Texts are cut, and without secrets.
    """

    key: str
    goal: str
    tool: str
    failures: int
    score: str
    since: datetime
    last: datetime
    error: str
    next: str


class RateUse(NamedTuple):
    """How many attempts count in the present hour or day, of how many."""

    name: str
    used: int
    most: int


class OpenGaps(NamedTuple):
    """The goals that fail, and how many attempts count.

    `mode` is that of the evolution of the brain. `periodic` says whether gaps are looked for
    every hour.
    """

    gaps: Sequence[FailedGoal]
    rates: Sequence[RateUse]
    mode: str
    periodic: bool


class GapEvent(NamedTuple):
    """One line of the audit, with the fields of the seed; `ts` is ISO 8601 in UTC."""

    ts: str
    capability_name: str
    trigger_reason: str
    phase: str
    result: str


class GapResult(NamedTuple):
    """What became of a gap; `result` is success, skipped, rejected or failed.

    `outcome` is that of the gate, None if the gate was not reached. `requests` and tokens are
    what this attempt cost here, with its retries and the cases of the gate.
    """

    key: str
    goal: str
    score: str
    capability_name: str
    slug: str
    phase: str
    result: str
    reason: str
    outcome: GateOutcome | None = None
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
