"""What learning would do next, what it has cost, and what it decided last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from ...errors import BrainError
from ...repo.open.manifest import OFF
from ...results import (
    EvolutionDecision,
    EvolutionStatus,
    EvolverStatus,
    RateStatus,
)
from ...util.utc_time import utc_time
from .costs import read_cost
from .job_leases import next_time, read_job_lease
from .job_types import NO_MODEL_REASON, Job, JobContext
from .jobs import JOBS
from .pauses import describe_pause, read_pause

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_DECISIONS = 10
_OFF = "evolution is off"

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedModel:
    """A model that is not opened: its name, "" for none, and whether it calls tools."""

    name: str = ""
    has_tools: bool = False


def read_evolution_status(
    context: JobContext, model: NamedModel, jobs: Sequence[Job] = JOBS
) -> EvolutionStatus:
    """Return the status; a store that does not answer is one of its problems."""
    mode = context.brain.gate.read_mode()
    problems: list[str] = []
    pause = _try(lambda: _find_pause(context, model), "", problems)
    reason = _OFF if mode == OFF else pause or ("" if model.name else NO_MODEL_REASON)
    if pause:
        problems.append(pause)
    return EvolutionStatus(
        mode=mode,
        model=model.name,
        evolvers=_try(
            lambda: [_describe_evolver(context, model, job, reason) for job in jobs], [], problems
        ),
        costs=_try(lambda: [read_cost(context.store, job.evolver) for job in jobs], [], problems),
        rates=[rate for job in jobs for rate in _read_rates(context, job, problems)],
        decisions=_try(lambda: _read_decisions(context), [], problems),
        problems=list(dict.fromkeys(problems)),
    )


def _find_pause(context: JobContext, model: NamedModel) -> str:
    if not model.name:
        return ""
    pause = read_pause(context.store, model.name, context.clocks.now())
    return describe_pause(pause) if pause else ""


def _describe_evolver(
    context: JobContext, model: NamedModel, job: Job, reason: str
) -> EvolverStatus:
    now = context.clocks.now()
    lease = read_job_lease(context.store, job, now)
    due = None if reason == _OFF else next_time(context, job, lease, now)
    if lease.owner:
        reason = f"the scheduler {lease.owner} does it"
    elif not reason:
        reached = _find_reached_limit(context, job, now)
        reason = f"the limit of attempts per {reached} is reached" if reached else ""
    return EvolverStatus(
        evolver=job.evolver,
        waiting=context.store.count_work(job.evolver),
        next=None if due is None else utc_time(max(due, now)),
        reason=reason,
        max_tokens=job.max_tokens(model.has_tools) if model.name else 0,
    )


def _find_reached_limit(context: JobContext, job: Job, now: int) -> str:
    counts = (
        context.rates.read(context.rate_key(job.evolver), job.limits, now) if job.limits else {}
    )
    return next((one.name for one in job.limits if counts.get(one.name, 0) >= one.most), "")


def _read_rates(context: JobContext, job: Job, problems: list[str]) -> list[RateStatus]:
    if not job.limits:
        return []
    now = context.clocks.now()
    counts = _try(
        lambda: context.rates.read(context.rate_key(job.evolver), job.limits, now), None, problems
    )
    return [
        RateStatus(
            evolver=job.evolver,
            limit=limit.name,
            attempts=None if counts is None else counts.get(limit.name, 0),
            most=limit.most,
        )
        for limit in job.limits
    ]


def _read_decisions(context: JobContext) -> list[EvolutionDecision]:
    return [
        EvolutionDecision(
            time=utc_time(event.at),
            evolver=event.evolver,
            name=event.name,
            trigger_reason=event.trigger_reason,
            phase=event.phase,
            result=event.result,
        )
        for event in context.store.read_events(last=_DECISIONS)
    ]


def _try(read: Callable[[], T], instead: T, problems: list[str]) -> T:
    try:
        return read()
    except BrainError as error:
        problems.append(error.message)
        return instead
