"""Run the jobs that learn as they are due, one process at a time, and say what they would do next.

What there is to do lies in the store of experience, so that any process may do it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import (
    BrainError,
    Conflict,
    InvalidInput,
    Locked,
    ModelError,
    SandboxError,
    StoreError,
)
from ..experience.gaps import GAP_LIMITS, GAPS, list_unqueued
from ..experience.patterns import ENABLED_VARIABLE, NEW, PATTERNS
from ..experience.patterns import is_enabled as are_patterns_enabled
from ..experience.run_end import SYNTHESIS
from ..experience.store import RateLimit
from ..repo.open.manifest import NO_BOUNDS, OFF, Bounds
from ..results import (
    BudgetStatus,
    EvolutionDecision,
    EvolutionStatus,
    EvolverStatus,
    RateStatus,
    ScheduledStep,
)
from ..util.utc_time import epoch_ms, utc_time
from .budget import NO_PRICE, Interrupted, read_costs
from .hard_runs import SYNTHESIS_LIMITS, work_off_hard_runs
from .jobs import (
    BUSY,
    DONE,
    FAILED,
    NO_MODEL_REASON,
    OFF_REASON,
    WAITING,
    JobContext,
    end_pause,
    make_step,
    open_context,
    pause_model,
    read_pause,
)

if TYPE_CHECKING:
    import threading

    from ..api.brain import Brain
    from ..experience.store import Store
    from ..models import Model
    from ..models.config import Prices

POLL_SECONDS = 30.0
"""How often the queues are looked at."""
MAX_POLL_SECONDS = 900.0
"""The longest wait while the store does not answer."""
STORE_OF_EXPERIENCE = "experience"
PROVISIONAL = "provisional"
_HOUR_MS = 3_600_000
_PASSING = (StoreError, Locked, SandboxError)
"""Errors after which a job may succeed later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job: its evolver, how often it runs, and what it does.

    A job with `period` (ms) runs once in each, and as soon as there is new work of the kind
    `queue`, "" for none; without one it runs while there is work. `find_new` lists what it would
    queue: names, and since when, None for since it last looked. `find_switch` says what turns the
    job off, "" if nothing does. `limits` are shown by the status.
    """

    evolver: str
    run: Callable[[JobContext], Iterator[ScheduledStep]]
    period: int = 0
    queue: str = ""
    needs_model: bool = True
    find_switch: Callable[[JobContext], str] = field(default=lambda context: "")
    find_new: Callable[[JobContext], list[tuple[str, int | None]]] = field(default=lambda _: [])
    limits: tuple[RateLimit, ...] = ()

    def last_run(self, store: Store) -> int | None:
        """Return when the job began last and came to its end, in ms; None for never."""
        last = store.fact(f"job/{self.evolver}").get("last")
        return last if type(last) is int else None

    def set_last_run(self, store: Store, at: int | None) -> None:
        """Note when the job began last; None lets it be due at once."""
        store.change(f"job/{self.evolver}", lambda _: {} if at is None else {"last": at})

    def next_time(self, store: Store, now: int) -> int | None:
        """Return when the job is due, None for one that has no work and does not look for any.

        A clock that was set back makes it run at once rather than after the lost time.
        """
        waiting = store.waiting(self.queue) if self.queue else []
        if not self.period:
            return now if waiting or not self.queue else None
        last = self.last_run(store)
        if last is None or last > now or (waiting and waiting[-1] > last):
            return now
        return last + self.period


def _find_pattern_switch(_context: JobContext) -> str:
    return "" if are_patterns_enabled() else f"{ENABLED_VARIABLE} turns patterns off"


def _find_gap_switch(context: JobContext) -> str:
    """Say what turns gaps off; the mode of the brain is looked at before."""
    return "SKILLS_ENABLED turns gaps off" if context.brain.gaps.read_mode() == OFF else ""


def _find_new_patterns(context: JobContext) -> list[tuple[str, int | None]]:
    brain = context.brain
    new = (one for one in brain.patterns.list(now=context.now()).patterns if one.status == NEW)
    return [(" → ".join(one.skills), None) for one in new]


def _find_new_gaps(context: JobContext) -> list[tuple[str, int | None]]:
    if not context.brain.gaps.is_periodic():
        return []
    return [(" ".join(gap.goal.split()), gap.last) for gap in list_unqueued(context.store)]


def _run_patterns(context: JobContext) -> Iterator[ScheduledStep]:
    from .patterns import run_patterns

    model = context.metered_model(PATTERNS)
    for found in run_patterns(context.brain, model, now=context.now()):
        result = FAILED if found.status == "failed" else DONE
        yield make_step(PATTERNS, result, found.reason, slug=found.slug, outcome=found.outcome)


def _run_gaps(context: JobContext) -> Iterator[ScheduledStep]:
    from .gaps import work_off_gaps

    model, should_stop = context.metered_model(GAPS), context.should_stop
    for gap in work_off_gaps(context.brain, model, now=context.now(), should_stop=should_stop):
        result = FAILED if gap.result == "failed" else DONE
        reason = f"{gap.result} in {gap.phase}: {gap.reason}" if gap.reason else gap.result
        yield make_step(GAPS, result, reason, key=gap.key, slug=gap.slug, outcome=gap.outcome)


def _find_provisional(context: JobContext) -> list[tuple[str, int | None]]:
    from ..repo.learning.provisional import describe

    found = context.brain.gate.list_provisional()
    return [(f"{describe(one)}, until {utc_time(one.ends):%F}", one.since) for one in found]


def _note_asked(verdict: bytes, _before: dict[str, Any]) -> dict[str, Any]:
    return {"verdict": verdict.hex()}


def _run_provisional(context: JobContext) -> Iterator[ScheduledStep]:
    """Go on with what is provisional; a person is asked once to take a change back."""
    from .evolver import ModelRunner

    model = context.metered_model(PROVISIONAL)
    gate = context.brain.gate.open(text_runner=ModelRunner(model) if model else None)
    for live in context.brain.gate.list_provisional():
        if context.should_stop():
            return
        asked = context.store.fact(f"{PROVISIONAL}/{live.slug}")
        if asked.get("verdict") == live.blob.hex():
            continue  # the person has answered, or will
        try:
            outcome = gate.go_on(live, context.now())
        except (Conflict, InvalidInput) as error:  # the others go on
            yield make_step(PROVISIONAL, FAILED, error.message, slug=live.slug)
            continue
        if outcome.done == "proposed":
            context.store.change(f"{PROVISIONAL}/{live.slug}", partial(_note_asked, live.blob))
        if outcome.done != "nothing":
            yield make_step(PROVISIONAL, DONE, outcome.reason, slug=live.slug, outcome=outcome)


JOBS = (
    Job(evolver=SYNTHESIS, run=work_off_hard_runs, queue=SYNTHESIS, limits=SYNTHESIS_LIMITS),
    Job(
        evolver=PATTERNS,
        run=_run_patterns,
        period=6 * _HOUR_MS,
        find_switch=_find_pattern_switch,
        find_new=_find_new_patterns,
    ),
    Job(
        evolver=GAPS,
        run=_run_gaps,
        period=_HOUR_MS,
        queue=GAPS,
        find_switch=_find_gap_switch,
        find_new=_find_new_gaps,
        limits=GAP_LIMITS,
    ),
    Job(
        evolver=PROVISIONAL,
        run=_run_provisional,
        period=_HOUR_MS,
        needs_model=False,
        find_new=_find_provisional,
    ),
)
"""A new kind of learning adds a row."""


def run_due(
    brain: Brain,
    model: Model | None,
    *,
    budget: Bounds = NO_BOUNDS,
    now: Callable[[], int] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Iterator[ScheduledStep]:
    """Do what is due now, until it should stop: synthesis of queued runs, patterns, gaps.

    Without a model, what needs one waits; while another process learns from this brain, one
    step says so. What models cost stays in the `budget` of the run. `now` returns the time in ms
    since 1970. Raises `StoreError` if the store of experience does not answer.
    """
    context = open_context(brain, model, now, should_stop, budget)
    yield from Scheduler(context, time.sleep).run_due()


def run(
    brain: Brain,
    model: Model | None,
    stop: threading.Event,
    *,
    budget: Bounds = NO_BOUNDS,
    now: Callable[[], int] | None = None,
    wait: Callable[[float], object] | None = None,
) -> Iterator[ScheduledStep]:
    """Do what is due, again and again, until `stop` is set or the `budget` of the run is spent.

    An attempt that is interrupted so keeps its answers. `wait` waits for some seconds, by
    default until `stop` is set.
    """
    context = open_context(brain, model, now, stop.is_set, budget)
    yield from Scheduler(context, wait or stop.wait).run()


def make_due(brain: Brain) -> None:
    """Let patterns and gaps be due at once, and the model asked again although it failed.

    The limits of attempts and the budget stay. Raises `StoreError`.
    """
    store = brain.gaps.open_store()
    end_pause(store)
    store.wake()
    for job in JOBS:
        job.set_last_run(store, None)


class Scheduler:
    """The jobs over one brain. `wait` waits for some seconds, or less if it should stop."""

    def __init__(
        self,
        context: JobContext,
        wait: Callable[[float], object],
        jobs: Sequence[Job] = JOBS,
    ) -> None:
        self._context = context
        self._wait = wait
        self._jobs = jobs

    def run_due(self) -> Iterator[ScheduledStep]:
        """Run each job that is due, once, unless another process learns from this brain.

        Raises `StoreError` if the store does not answer.
        """
        try:
            with self._context.store.learning():
                for job in self._jobs:
                    if self._context.should_stop():
                        return
                    if self._context.brain.gate.read_mode() == OFF:
                        yield make_step(job.evolver, WAITING, OFF_REASON)
                        return
                    yield from self._run_if_due(job)
        except Locked as error:
            if error.code != "learning":
                raise
            yield make_step(STORE_OF_EXPERIENCE, BUSY, error.message)

    def run(self) -> Iterator[ScheduledStep]:
        """Run what is due, and wait, until it should stop, or the budget of the run is spent.

        While the store does not answer, it tries again with growing waits. A step that only repeats
        what the last one of its job said is left out.
        """
        seconds = POLL_SECONDS
        said: dict[str, ScheduledStep] = {}
        while not self._context.should_stop():
            try:
                for step in self.run_due():
                    if said.get(step.evolver) != step:
                        yield step
                    said[step.evolver] = step
                seconds = POLL_SECONDS
            except _PASSING as error:
                step = make_step(STORE_OF_EXPERIENCE, FAILED, error.message)
                if said.get(STORE_OF_EXPERIENCE) != step:
                    yield step
                said[STORE_OF_EXPERIENCE] = step
                seconds = min(seconds * 2, MAX_POLL_SECONDS)
            if self._context.budget.is_run_spent:
                return
            if not self._context.should_stop():
                self._wait(seconds)

    def _run_if_due(self, job: Job) -> Iterator[ScheduledStep]:
        """Run a job that is due; one that is stopped or killed stays due."""
        context, now = self._context, self._context.now()
        due = None if job.find_switch(context) else job.next_time(context.store, now)
        if due is None or due > now:
            return
        if job.needs_model and (obstacle := context.find_obstacle()):
            yield make_step(job.evolver, WAITING, obstacle)
            return
        try:
            yield from job.run(context)
        except Interrupted as error:
            yield make_step(job.evolver, WAITING, error.message)
        except ModelError as error:
            name = context.model.model_name if context.model else ""
            reason = pause_model(context.store, name, context.now(), error)
            yield make_step(job.evolver, FAILED, reason)
        except BrainError as error:
            if not job.period and isinstance(error, _PASSING):
                raise
            yield make_step(job.evolver, FAILED, error.message)
        if job.period and not context.should_stop():
            job.set_last_run(context.store, now)


# What they would do next

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
    pause = _try(lambda: read_pause(context.store, model, context.now()), ("", 0), problems)
    if pause[0]:
        problems.append(pause[0])
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
        decisions=_try(
            lambda: [
                EvolutionDecision(utc_time(event.at), *event[1:])
                for event in context.store.events(last=_DECISIONS)
            ],
            [],
            problems,
        ),
        stream=context.brain.gate.read_stream(),
        budget=budget,
        problems=list(dict.fromkeys(problems)),
    )


def _describe_evolver(
    context: JobContext,
    model: str,
    job: Job,
    off: str,
    pause: tuple[str, int],
    budget: BudgetStatus | None,
    problems: list[str],
) -> EvolverStatus:
    """Describe a job; `off` says why no job runs, "" if they do."""
    now = context.now()
    no_price = NO_PRICE if budget is not None and budget.reason == NO_PRICE else ""
    no_model = no_price if model else NO_MODEL_REASON
    obstacle = off or job.find_switch(context) or (no_model if job.needs_model else "")
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
    context: JobContext, job: Job, pause: tuple[str, int], budget: BudgetStatus | None, now: int
) -> tuple[str, int]:
    """Return why a job that is due would wait, and until when; "" and 0 if it would not."""
    if pause[0] and job.needs_model:
        return pause
    if budget is not None and budget.reason and job.needs_model:
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


def _try(read: Callable[[], T], instead: T, problems: list[str]) -> T:
    try:
        return read()
    except BrainError as error:
        problems.append(error.message)
        return instead
