"""What learning would do next, what it has cost, and what it decided last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from ...errors import BrainError
from ...experience.experience_limits import number_of_period
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
from .pauses import ModelPause, describe_pause, read_pause

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...experience.experience_protocol import RateLimit

_DECISIONS = 10
_NAMES = 5
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
    pause = _try(lambda: _find_pause(context, model), None, problems)
    if pause is not None:
        problems.append(describe_pause(pause))
    return EvolutionStatus(
        mode=mode,
        model=model.name,
        evolvers=_try(
            lambda: [
                _describe_evolver(context, model, job, _OFF if mode == OFF else "", pause, problems)
                for job in jobs
            ],
            [],
            problems,
        ),
        costs=_try(lambda: [read_cost(context.store, job.evolver) for job in jobs], [], problems),
        rates=[rate for job in jobs for rate in _read_rates(context, job, problems)],
        decisions=_try(lambda: _read_decisions(context), [], problems),
        problems=list(dict.fromkeys(problems)),
    )


def _find_pause(context: JobContext, model: NamedModel) -> ModelPause | None:
    if not model.name:
        return None
    return read_pause(context.store, model.name, context.clocks.now())


def _describe_evolver(
    context: JobContext,
    model: NamedModel,
    job: Job,
    off: str,
    pause: ModelPause | None,
    problems: list[str],
) -> EvolverStatus:
    """Describe a job; `off` says why no job runs, "" if they do."""
    now = context.clocks.now()
    lease = read_job_lease(context.store, job, now)
    obstacle = off or job.find_switch(context) or ("" if model.name else NO_MODEL_REASON)
    due = None if obstacle else next_time(context, job, lease, now)
    reason = obstacle
    if lease.owner:
        reason = f"the scheduler {lease.owner} does it"
    elif not obstacle:
        reason, until = _find_reason_to_wait(context, job, pause, now)
        due = None if due is None else max(due, until)
    switched_off = off or job.find_switch(context)
    nothing: list[tuple[str, int | None]] = []
    new = nothing if switched_off else _try(lambda: job.find_new(context), nothing, problems)
    times = [context.store.oldest_work(job.evolver), *(at or lease.last for _, at in new)]
    since = min((at for at in times if at is not None), default=None)
    return EvolverStatus(
        evolver=job.evolver,
        waiting=context.store.count_work(job.evolver) + len(new),
        next=None if due is None else utc_time(max(due, now)),
        reason=reason,
        max_tokens=0 if obstacle else job.max_tokens(model.has_tools),
        since=None if since is None else utc_time(since),
        names=[name for name, _ in new[:_NAMES]],
    )


def _find_reason_to_wait(
    context: JobContext, job: Job, pause: ModelPause | None, now: int
) -> tuple[str, int]:
    """Return why a job that is due would wait, and until when; "" and 0 if it would not."""
    if pause is not None:
        return describe_pause(pause), pause.until
    if not job.limits:
        return "", 0
    counts = context.store.read(context.rate_key(job.evolver), job.limits, now)
    reached = [limit for limit in job.limits if counts.get(limit.name, 0) >= limit.most]
    if not reached:
        return "", 0
    last = max(reached, key=lambda limit: _period_end(limit, now))
    return f"the limit of attempts per {_period_name(last)} is reached", _period_end(last, now)


def _read_rates(context: JobContext, job: Job, problems: list[str]) -> list[RateStatus]:
    if not job.limits:
        return []
    now = context.clocks.now()
    counts = _try(
        lambda: context.store.read(context.rate_key(job.evolver), job.limits, now), None, problems
    )
    return [
        RateStatus(
            evolver=job.evolver,
            limit=_period_name(limit),
            attempts=None if counts is None else counts.get(limit.name, 0),
            most=limit.most,
            left=None if counts is None else max(limit.most - counts.get(limit.name, 0), 0),
            renewed=utc_time(_period_end(limit, now)),
        )
        for limit in job.limits
    ]


def _period_name(limit: RateLimit) -> str:
    return {3_600: "hour", 86_400: "day"}.get(limit.seconds, f"{limit.seconds} s")


def _period_end(limit: RateLimit, now: int) -> int:
    """Return when the next period of a limit begins, in ms since 1970."""
    return (number_of_period(limit, now) + 1) * limit.seconds * 1000


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
