"""The jobs of the scheduler. A new kind of learning adds a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from ...models.calls import AskLimits
from ...repo.open.manifest import OFF
from ...results import ScheduledStep
from ..gaps.gap_limits import GAP_LIMITS
from ..gaps.gap_queue import list_unqueued
from ..patterns.pattern_status import NEW
from ..patterns.settings import ENABLED_VARIABLE
from ..patterns.settings import is_enabled as are_patterns_enabled
from .costs import MAX_PROMPT_CHARS
from .job_types import (
    DONE,
    FAILED,
    SYNTHESIS,
    SYNTHESIS_LIMITS,
    Job,
    JobContext,
    make_step,
)

if TYPE_CHECKING:
    from ..patterns.brain_protocol import PatternBrain

HOUR_MS = 3_600_000
_LIMITS = AskLimits()
PATTERNS, GAPS = "patterns", "gaps"
_CHARS_PER_TOKEN = 2
"""Fewer than models have of common text, so that bounds of tokens hold."""
_PROMPT_TOKENS = 20_000
"""A bound of the prompt of a synthesis: the transcript, five skills, and earlier attempts."""


def _max_synthesis_tokens(has_tools: bool) -> int:
    """Return the most tokens of one conversation; the cases of the gate come on top."""
    from ..synthesis import MAX_TOKENS
    from ..transcript import MAX_CHARS

    if has_tools:
        return MAX_TOKENS + _LIMITS.max_tokens + MAX_CHARS
    prompt = _PROMPT_TOKENS + MAX_CHARS // _CHARS_PER_TOKEN
    return _LIMITS.answers * (prompt + _LIMITS.max_tokens)


def _max_metered_tokens(_has_tools: bool) -> int:
    """Return the most tokens of one pattern or gap."""
    prompt = MAX_PROMPT_CHARS // _CHARS_PER_TOKEN
    return _LIMITS.answers * (prompt + _LIMITS.max_tokens)


def _find_pattern_switch(_context: JobContext) -> str:
    return "" if are_patterns_enabled() else f"{ENABLED_VARIABLE} turns patterns off"


def _find_gap_switch(context: JobContext) -> str:
    """Say what turns gaps off; the mode of the brain is looked at before."""
    return "SKILLS_ENABLED turns gaps off" if context.brain.gaps.read_mode() == OFF else ""


def _find_new_patterns(context: JobContext) -> list[tuple[str, int | None]]:
    brain, now = cast("PatternBrain", context.brain), context.clocks.now()
    new = (one for one in brain.patterns.list(now=now).patterns if one.status == NEW)
    return [(" → ".join(one.skills), None) for one in new]


def _find_new_gaps(context: JobContext) -> list[tuple[str, int | None]]:
    if not context.brain.gaps.is_periodic():
        return []
    return [(" ".join(gap.goal.split()), gap.last) for gap in list_unqueued(context.store)]


def _run_synthesis(context: JobContext) -> Iterator[ScheduledStep]:
    from .synthesis_job import work_off_hard_runs

    return work_off_hard_runs(context)


def _run_patterns(context: JobContext) -> Iterator[ScheduledStep]:
    from ..patterns.run_patterns import run_patterns

    model = context.metered_model(PATTERNS)
    for found in run_patterns(cast("PatternBrain", context.brain), model, now=context.clocks.now()):
        result = FAILED if found.status == "failed" else DONE
        yield make_step(PATTERNS, result, found.reason, slug=found.slug, outcome=found.outcome)


def _run_gaps(context: JobContext) -> Iterator[ScheduledStep]:
    from ..gaps.run_gaps import run_gaps

    model = context.metered_model(GAPS)
    now, should_stop = context.clocks.now(), context.should_stop
    for gap in run_gaps(context.brain, model, now=now, should_stop=should_stop):
        result = FAILED if gap.result == "failed" else DONE
        reason = f"{gap.result} in {gap.phase}: {gap.reason}" if gap.reason else gap.result
        yield make_step(GAPS, result, reason, key=gap.key, slug=gap.slug, outcome=gap.outcome)


JOBS = (
    Job(
        evolver=SYNTHESIS,
        run=_run_synthesis,
        queue=SYNTHESIS,
        works_off=True,
        limits=SYNTHESIS_LIMITS,
        max_tokens=_max_synthesis_tokens,
    ),
    Job(
        evolver=PATTERNS,
        run=_run_patterns,
        period=6 * HOUR_MS,
        find_switch=_find_pattern_switch,
        find_new=_find_new_patterns,
        max_tokens=_max_metered_tokens,
    ),
    Job(
        evolver=GAPS,
        run=_run_gaps,
        period=HOUR_MS,
        queue=GAPS,
        find_switch=_find_gap_switch,
        find_new=_find_new_gaps,
        limits=GAP_LIMITS,
        max_tokens=_max_metered_tokens,
    ),
)
