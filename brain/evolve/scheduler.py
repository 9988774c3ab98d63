"""Run the jobs that learn as they are due, one process at a time, and say what they would do next.

What there is to do lies in the store of experience, so that any process may do it.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import (
    BrainError,
    Conflict,
    InvalidInput,
    Locked,
    ModelError,
    SandboxError,
    StoreError,
    printable_text,
)
from ..experience.gaps import GAP_LIMITS, GAPS, list_unqueued
from ..experience.patterns import ENABLED_VARIABLE, NEW, PATTERNS
from ..experience.patterns import is_enabled as are_patterns_enabled
from ..experience.run_end import SYNTHESIS
from ..experience.store import RateLimit
from ..repo.manifest import NO_BOUNDS, OFF, Bounds
from ..results import (
    EvolutionDecision,
    EvolutionStatus,
    EvolverStatus,
    RateStatus,
    ScheduledStep,
)
from ..util.utc_time import epoch_ms, utc_time
from .budget import NO_PRICE, Interrupted, now_ms, open_budget, read_costs
from .evolver import BUSY, DONE, FAILED, NO_MODEL_REASON, WAITING, ModelRunner, make_step
from .hard_runs import SYNTHESIS_LIMITS, RunAttempt

if TYPE_CHECKING:
    import threading

    from ..api.brain import Brain
    from ..models import Model
    from ..models.calls import RequestBound
    from ..models.config import Prices

OFF_REASON = "the evolution mode of this brain is off"
MAX_PROMPT_BYTES = 200_000
"""Size of a request about a pattern or a gap, which bounds what it may cost."""
PAUSE_MS = 600_000
"""How long a model that failed is not asked."""
POLL_SECONDS = 30.0
"""How often the queues are looked at."""
MAX_POLL_SECONDS = 900.0
"""The longest wait while the store does not answer."""
STORE_OF_EXPERIENCE = "experience"
PROVISIONAL = "provisional"
_PAUSE = "model pause"
_HOUR_MS = 3_600_000
_LOST_REASON = "the item is gone: the store was deleted, or another process ended it"
_PASSING = (StoreError, Locked, SandboxError)
"""Errors after which a job may succeed later."""
_DECISIONS = 10
_NAMES = 5
T = TypeVar("T")


class Job(ABC):
    """A kind of learning: how often it runs, and what it does.

    A job with `period` (ms) runs once in each, and as soon as there is new work of the kind
    `queue`, "" for none; without one it runs while there is work. `limits` are shown by the status.
    """

    evolver = ""
    period = 0
    queue = ""
    needs_model = True
    limits: tuple[RateLimit, ...] = ()

    def find_switch(self, brain: Brain) -> str:
        """Say what turns the job off, "" if nothing does."""
        return ""

    def find_new(self, scheduler: Scheduler) -> list[tuple[str, int | None]]:
        """List what it would queue: names, and since when, None for since it last looked."""
        return []

    @abstractmethod
    def work_off(self, scheduler: Scheduler) -> Iterator[ScheduledStep]:
        """Do what there is to do, and say what became of it."""


class _HardRuns(Job):
    evolver = queue = SYNTHESIS
    limits = SYNTHESIS_LIMITS

    def work_off(self, scheduler: Scheduler) -> Iterator[ScheduledStep]:
        model = scheduler.metered_model(SYNTHESIS)
        while not scheduler.should_stop():
            if (obstacle := scheduler.find_obstacle()[0]) or model is None:
                yield make_step(SYNTHESIS, WAITING, obstacle)
                return
            item = scheduler.store.next(SYNTHESIS, scheduler.now())
            if item is None:
                return
            attempt = RunAttempt(scheduler.brain, model, item, scheduler.now())
            ended = attempt.make()
            if attempt.model_error is not None:
                scheduler.pause_model(attempt.model_error)
            if ended is None:
                yield make_step(SYNTHESIS, BUSY, _LOST_REASON, key=item.key)
                continue
            yield ended.step
            if ended.step.result == WAITING:
                return


class _Patterns(Job):
    evolver = PATTERNS
    period = 6 * _HOUR_MS

    def find_switch(self, brain: Brain) -> str:
        return "" if are_patterns_enabled() else f"{ENABLED_VARIABLE} turns patterns off"

    def find_new(self, scheduler: Scheduler) -> list[tuple[str, int | None]]:
        found = scheduler.brain.patterns.list(now=scheduler.now()).patterns
        return [(" → ".join(one.skills), None) for one in found if one.status == NEW]

    def work_off(self, scheduler: Scheduler) -> Iterator[ScheduledStep]:
        from .patterns import run_patterns

        model = scheduler.metered_model(PATTERNS)
        for found in run_patterns(scheduler.brain, model, now=scheduler.now()):
            result = FAILED if found.status == "failed" else DONE
            yield make_step(PATTERNS, result, found.reason, slug=found.slug, outcome=found.outcome)


class _Gaps(Job):
    evolver = queue = GAPS
    period = _HOUR_MS
    limits = GAP_LIMITS

    def find_switch(self, brain: Brain) -> str:
        return "SKILLS_ENABLED turns gaps off" if brain.gaps.read_mode() == OFF else ""

    def find_new(self, scheduler: Scheduler) -> list[tuple[str, int | None]]:
        if not scheduler.brain.gaps.is_periodic():
            return []
        return [(" ".join(gap.goal.split()), gap.last) for gap in list_unqueued(scheduler.store)]

    def work_off(self, scheduler: Scheduler) -> Iterator[ScheduledStep]:
        from .gaps import work_off_gaps

        model, stop = scheduler.metered_model(GAPS), scheduler.should_stop
        for gap in work_off_gaps(scheduler.brain, model, now=scheduler.now(), should_stop=stop):
            result = FAILED if gap.result == "failed" else DONE
            reason = f"{gap.result} in {gap.phase}: {gap.reason}" if gap.reason else gap.result
            yield make_step(GAPS, result, reason, key=gap.key, slug=gap.slug, outcome=gap.outcome)


class _Provisional(Job):
    """Goes on with what is provisional; a person is asked once to take a change back."""

    evolver = PROVISIONAL
    period = _HOUR_MS
    needs_model = False

    def find_new(self, scheduler: Scheduler) -> list[tuple[str, int | None]]:
        from ..repo.learning.provisional import describe

        found = scheduler.brain.gate.list_provisional()
        return [(f"{describe(one)}, until {utc_time(one.ends):%F}", one.since) for one in found]

    def work_off(self, scheduler: Scheduler) -> Iterator[ScheduledStep]:
        model, store = scheduler.metered_model(PROVISIONAL), scheduler.store
        gate = scheduler.brain.gate.open(text_runner=ModelRunner(model) if model else None)
        for live in scheduler.brain.gate.list_provisional():
            if scheduler.should_stop():
                return
            name, asked = f"{PROVISIONAL}/{live.slug}", {"verdict": live.blob.hex()}
            if store.fact(name) == asked:
                continue  # the person has answered, or will
            try:
                outcome = gate.go_on(live, scheduler.now())
            except (Conflict, InvalidInput) as error:  # the others go on
                yield make_step(PROVISIONAL, FAILED, error.message, slug=live.slug)
                continue
            if outcome.done == "proposed":
                scheduler.note(name, asked)
            if outcome.done != "nothing":
                yield make_step(PROVISIONAL, DONE, outcome.reason, slug=live.slug, outcome=outcome)


JOBS: tuple[Job, ...] = (_HardRuns(), _Patterns(), _Gaps(), _Provisional())
"""A new kind of learning adds one."""


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
    yield from Scheduler(brain, model, budget=budget, now=now, should_stop=should_stop).run_due()


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
    scheduler = Scheduler(brain, model, budget=budget, now=now, should_stop=stop.is_set)
    yield from scheduler.run(wait or stop.wait)


def make_due(brain: Brain) -> None:
    """Let patterns and gaps be due at once, and the model asked again although it failed.

    The limits of attempts and the budget stay. Raises `StoreError`.
    """
    scheduler = Scheduler(brain)
    scheduler.store.wake()
    for name in (_PAUSE, *(f"job/{job.evolver}" for job in JOBS)):
        scheduler.note(name, {})


def read_status(
    brain: Brain,
    model: str = "",
    *,
    prices: Prices | None = None,
    now: Callable[[], int] | None = None,
) -> EvolutionStatus:
    """Return what would be done next, what it has cost, and what was decided last.

    `model` is the name of the model that would be asked, "" for none, and `prices` its prices. A
    store that does not answer is one of the problems of the status.
    """
    return Scheduler(brain, now=now, model_name=model, prices=prices).read_status()


class Scheduler:
    """The jobs over one brain; `now` returns the time in ms since 1970.

    `should_stop` tells that it was asked to end. `model_name` and `prices` are for where there is
    no model. Raises `StoreError`, `InvalidInput`.
    """

    def __init__(
        self,
        brain: Brain,
        model: Model | None = None,
        *,
        now: Callable[[], int] | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        budget: Bounds = NO_BOUNDS,
        model_name: str = "",
        prices: Prices | None = None,
        jobs: Sequence[Job] = JOBS,
    ) -> None:
        self.brain = brain
        self.store = brain.gaps.open_store()
        self.now = now or now_ms
        self.should_stop = should_stop
        self._budget = open_budget(brain, model, prices, budget, self.now)
        self._model = model
        self._model_name = model.model_name if model else model_name
        self._jobs = jobs

    def metered_model(self, evolver: str) -> Model | None:
        """Return the model, whose requests count as cost of an evolver."""
        if self._model is None:
            return None

        def check(bound: RequestBound) -> None:
            if self.should_stop():
                raise Interrupted("the scheduler ends")
            if self.brain.gate.read_mode() == OFF:
                raise Interrupted(OFF_REASON)
            if evolver != SYNTHESIS and bound.bytes > MAX_PROMPT_BYTES:
                error = ModelError(
                    f"the prompt has {bound.bytes} bytes, more than {MAX_PROMPT_BYTES}",
                    code="too_long",
                    hint="nothing was asked",
                )
                error.requests = 0
                raise error

        return self._budget.meter(self._model, evolver, check)

    def note(self, name: str, fact: dict[str, Any]) -> None:
        """Keep a fact in the store; an empty one forgets it."""
        self.store.change(name, lambda _: fact)

    def pause_model(self, error: ModelError) -> str:
        """Let nobody ask the model for a while, which failed; return that as a sentence."""
        until = self.now() + PAUSE_MS
        time = utc_time(until).isoformat(timespec="seconds")
        why = printable_text(error.message, 300)
        reason = f"the model failed and is not asked before {time}: {why}"
        self.note(_PAUSE, {"model": self._model_name, "until": until, "reason": reason})
        return reason

    def _read_pause(self) -> tuple[str, int]:
        """Return why the model is not asked, and until when; "" and 0 if it may be.

        The pause of another model does not count, nor one that the clock would make longer than
        its length: then the clock was set back.
        """
        pause, now = self.store.fact(_PAUSE), self.now()
        if pause.get("model") == self._model_name and now < pause["until"] <= now + PAUSE_MS:
            return pause["reason"], pause["until"]
        return "", 0

    def find_obstacle(self) -> tuple[str, int | None]:
        """Return why the model is not asked now, and until when, in ms; "" and 0 if it is.

        None for a time: until a person does something.
        """
        if not self._model_name:
            return NO_MODEL_REASON, None
        budget = self._budget.read_status()
        if budget.reason == NO_PRICE:
            return NO_PRICE, None
        pause = self._read_pause()
        return pause if pause[0] or not budget.reason else (budget.reason, epoch_ms(budget.renewed))

    def run_due(self) -> Iterator[ScheduledStep]:
        """Run each job that is due, once, unless another process learns from this brain.

        Raises `StoreError` if the store does not answer.
        """
        try:
            with self.store.learning():
                for job in self._jobs:
                    if self.should_stop():
                        return
                    if self.brain.gate.read_mode() == OFF:
                        yield make_step(job.evolver, WAITING, OFF_REASON)
                        return
                    yield from self._run_if_due(job)
        except Locked as error:
            if error.code != "learning":
                raise
            yield make_step(STORE_OF_EXPERIENCE, BUSY, error.message)

    def run(self, wait: Callable[[float], object] = time.sleep) -> Iterator[ScheduledStep]:
        """Run what is due, and wait, until it should stop, or the budget of the run is spent.

        `wait` waits for some seconds, or less if it should stop. While the store does not answer,
        it tries again with growing waits. A step that only repeats what the last one of its job
        said is left out.
        """
        seconds = POLL_SECONDS
        said: dict[str, ScheduledStep] = {}
        while not self.should_stop():
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
            if self._budget.is_run_spent:
                return
            if not self.should_stop():
                wait(seconds)

    def _run_if_due(self, job: Job) -> Iterator[ScheduledStep]:
        """Run a job that is due; one that is stopped or killed stays due."""
        now = self.now()
        due = None if job.find_switch(self.brain) else self._next_time(job, now)
        if due is None or due > now:
            return
        if job.needs_model and (obstacle := self.find_obstacle()[0]):
            yield make_step(job.evolver, WAITING, obstacle)
            return
        try:
            yield from job.work_off(self)
        except Interrupted as error:
            yield make_step(job.evolver, WAITING, error.message)
        except ModelError as error:
            yield make_step(job.evolver, FAILED, self.pause_model(error))
        except BrainError as error:
            if not job.period and isinstance(error, _PASSING):
                raise
            yield make_step(job.evolver, FAILED, error.message)
        if job.period and not self.should_stop():
            self.note(f"job/{job.evolver}", {"last": now})

    def _last_run(self, job: Job) -> int | None:
        """Return when a job began last and came to its end, in ms; None for never."""
        last = self.store.fact(f"job/{job.evolver}").get("last")
        return last if type(last) is int else None

    def _next_time(self, job: Job, now: int) -> int | None:
        """Return when a job is due, None for one that has no work and does not look for any.

        A clock that was set back makes it run at once rather than after the lost time.
        """
        waiting = self.store.waiting(job.queue) if job.queue else []
        if not job.period:
            return now if waiting or not job.queue else None
        last = self._last_run(job)
        if last is None or last > now or (waiting and waiting[-1] > last):
            return now
        return last + job.period

    # What they would do next

    def read_status(self) -> EvolutionStatus:
        """Return what would be done next, as `read_status`."""
        store, mode, problems = self.store, self.brain.gate.read_mode(), list[str]()
        off = "evolution is off" if mode == OFF else ""
        pause, _ = _try(self._read_pause, ("", 0), problems)
        problems += filter(None, [pause])
        budget = _try(self._budget.read_status, None, problems)
        rates = {job.evolver: self._describe_rates(job, problems) for job in self._jobs}
        return EvolutionStatus(
            mode=mode,
            model=self._model_name,
            evolvers=_try(
                lambda: [
                    self._describe_job(job, off, rates[job.evolver], problems) for job in self._jobs
                ],
                [],
                problems,
            ),
            costs=_try(
                lambda: read_costs(store, (job.evolver for job in self._jobs)), [], problems
            ),
            rates=[rate for some in rates.values() for rate in some],
            decisions=_try(
                lambda: [
                    EvolutionDecision(utc_time(event.at), *event[1:])
                    for event in store.events(last=_DECISIONS)
                ],
                [],
                problems,
            ),
            stream=self.brain.gate.read_stream(),
            budget=budget,
            problems=list(dict.fromkeys(problems)),
        )

    def _describe_job(
        self,
        job: Job,
        off: str,
        rates: list[RateStatus],
        problems: list[str],
    ) -> EvolverStatus:
        """Describe a job; `off` says why no job runs, "" if they do."""
        off = off or job.find_switch(self.brain)
        reason, until = (off, None) if off else ("", 0)
        if job.needs_model and not off:
            reason, until = self.find_obstacle()
        reached = [rate for rate in rates if rate.left == 0]
        if not reason and reached:
            last = max(reached, key=lambda rate: rate.renewed)
            reason = f"the limit of attempts per {last.limit} is reached"
            until = epoch_ms(last.renewed)
        now = self.now()
        due = None if until is None else self._next_time(job, now)
        new: list[tuple[str, int | None]] = []
        if not off:
            new = _try(lambda: job.find_new(self), new, problems)
        waiting, last_run = self.store.waiting(job.evolver), self._last_run(job)
        times = [*waiting[:1], *(at or last_run for _, at in new)]
        since = min((at for at in times if at is not None), default=None)
        return EvolverStatus(
            evolver=job.evolver,
            waiting=len(waiting) + len(new),
            next=None if due is None else utc_time(max(due, until or 0, now)),
            reason=reason,
            since=None if since is None else utc_time(since),
            names=[name for name, _ in new[:_NAMES]],
        )

    def _describe_rates(self, job: Job, problems: list[str]) -> list[RateStatus]:
        if not job.limits:
            return []
        now = self.now()
        counts = _try(lambda: self.store.counts(job.evolver, job.limits, now), None, problems)
        return [
            RateStatus(
                evolver=job.evolver,
                limit={3_600: "hour", 86_400: "day"}.get(limit.seconds, f"{limit.seconds} s"),
                attempts=None if counts is None else counts[limit.name],
                most=limit.most,
                left=None if counts is None else max(limit.most - counts[limit.name], 0),
                renewed=utc_time(limit.end(now)),
            )
            for limit in job.limits
        ]


def _try(read: Callable[[], T], instead: T, problems: list[str]) -> T:
    try:
        return read()
    except BrainError as error:
        problems.append(error.message)
        return instead
