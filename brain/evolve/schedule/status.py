"""What learning would do next, what it has cost, and what it decided last."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ...errors import BrainError
from ...repo.open.manifest import OFF
from ...results import (
    BudgetStatus,
    EvolutionDecision,
    EvolutionStatus,
    EvolverStatus,
    RateStatus,
)
from ...util.utc_time import epoch_ms, utc_time
from ..budget import read_costs
from .jobs import NO_MODEL_REASON, Job, JobContext, ModelPause, open_context, read_pause
from .scheduler import JOBS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...api.brain import Brain
    from ...experience.store import RateLimit
    from ...models.config import Prices

_DECISIONS = 10
_NAMES = 5
_OFF = "evolution is off"

T = TypeVar("T")


def read_status(
    brain: Brain,
    model: str = "",
    *,
    prices: Prices | None = None,
    now: Callable[[], int] | None = None,
    jobs: Sequence[Job] = JOBS,
) -> EvolutionStatus:
    """Return what would be done next, what it has cost, and what was decided last.

    `model` is the name of the model that would be asked, "" for none, and `prices` its prices. A
    store that does not answer is one of the problems of the status.
    """
    context = open_context(brain, now=now, prices=prices)
    mode = context.brain.gate.read_mode()
    problems: list[str] = []
    pause = _try(lambda: _find_pause(context, model), None, problems)
    if pause is not None:
        problems.append(pause.describe())
    budget = _try(context.budget.read_status, None, problems)
    return EvolutionStatus(
        mode=mode,
        model=model,
        evolvers=_try(
            lambda: [
                _describe_evolver(
                    *(context, model, job, _OFF if mode == OFF else "", pause, budget, problems)
                )
                for job in jobs
            ],
            [],
            problems,
        ),
        costs=_try(lambda: read_costs(context.store, (job.evolver for job in jobs)), [], problems),
        rates=[rate for job in jobs for rate in _read_rates(context, job, problems)],
        decisions=_try(lambda: _read_decisions(context), [], problems),
        stream=context.brain.gate.read_stream(),
        budget=budget,
        problems=list(dict.fromkeys(problems)),
    )


def _find_pause(context: JobContext, model: str) -> ModelPause | None:
    if not model:
        return None
    return read_pause(context.store, model, context.now())


def _describe_evolver(
    context: JobContext,
    model: str,
    job: Job,
    off: str,
    pause: ModelPause | None,
    budget: BudgetStatus | None,
    problems: list[str],
) -> EvolverStatus:
    """Describe a job; `off` says why no job runs, "" if they do."""
    now = context.now()
    obstacle = off or job.find_switch(context) or ("" if model else NO_MODEL_REASON)
    due = None if obstacle else job.next_time(context.store, now)
    reason = obstacle
    if not obstacle:
        reason, until = _find_reason_to_wait(context, job, pause, budget, now)
        due = None if due is None else max(due, until)
    switched_off = off or job.find_switch(context)
    nothing: list[tuple[str, int | None]] = []
    new = nothing if switched_off else _try(lambda: job.find_new(context), nothing, problems)
    waiting, last = context.store.waiting(job.evolver), job.last_run(context.store)
    times = [*waiting[:1], *(at or last for _, at in new)]
    since = min((at for at in times if at is not None), default=None)
    return EvolverStatus(
        evolver=job.evolver,
        waiting=len(waiting) + len(new),
        next=None if due is None else utc_time(max(due, now)),
        reason=reason,
        since=None if since is None else utc_time(since),
        names=[name for name, _ in new[:_NAMES]],
    )


def _find_reason_to_wait(
    context: JobContext, job: Job, pause: ModelPause | None, budget: BudgetStatus | None, now: int
) -> tuple[str, int]:
    """Return why a job that is due would wait, and until when; "" and 0 if it would not."""
    if pause is not None:
        return pause.describe(), pause.until
    if budget is not None and budget.reason:
        return budget.reason, epoch_ms(budget.renewed)
    if not job.limits:
        return "", 0
    counts = context.store.counts(job.evolver, job.limits, now)
    reached = [limit for limit in job.limits if counts.get(limit.name, 0) >= limit.most]
    if not reached:
        return "", 0
    last = max(reached, key=lambda limit: limit.end(now))
    return f"the limit of attempts per {_period_name(last)} is reached", last.end(now)


def _read_rates(context: JobContext, job: Job, problems: list[str]) -> list[RateStatus]:
    if not job.limits:
        return []
    now = context.now()
    counts = _try(lambda: context.store.counts(job.evolver, job.limits, now), None, problems)
    return [
        RateStatus(
            evolver=job.evolver,
            limit=_period_name(limit),
            attempts=None if counts is None else counts.get(limit.name, 0),
            most=limit.most,
            left=None if counts is None else max(limit.most - counts.get(limit.name, 0), 0),
            renewed=utc_time(limit.end(now)),
        )
        for limit in job.limits
    ]


def _period_name(limit: RateLimit) -> str:
    return {3_600: "hour", 86_400: "day"}.get(limit.seconds, f"{limit.seconds} s")


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
        for event in context.store.events(last=_DECISIONS)
    ]


def _try(read: Callable[[], T], instead: T, problems: list[str]) -> T:
    try:
        return read()
    except BrainError as error:
        problems.append(error.message)
        return instead
