"""Run the jobs that are due, again and again, until it is stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ...errors import BrainError, Locked, ModelError, SandboxError, StoreError
from ...repo.open.manifest import OFF
from ...results import ScheduledStep
from ..saved_answers import Interrupted
from .job_leases import next_time, read_job_lease, release_job, take_job
from .job_types import (
    BUSY,
    FAILED,
    NO_MODEL_REASON,
    OFF_REASON,
    WAITING,
    Job,
    JobContext,
    make_step,
)
from .jobs import JOBS
from .pauses import add_failure, describe_pause, read_pause

if TYPE_CHECKING:
    from ...models import Model

POLL_SECONDS = 30.0
"""How often the queues are looked at."""
MAX_POLL_SECONDS = 900.0
"""The longest wait while the stores do not answer."""
STORE_OF_EXPERIENCE = "experience"
_PASSING = (StoreError, Locked, SandboxError)
"""Errors after which a job may succeed later."""


class Scheduler:
    """The jobs over one brain.

    Several may run at once, also in other processes: a queued item and a lease of a job belong to
    one of them. `wait` waits for some seconds, or less if it should stop.
    """

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
        """Run each job that is due, once. Raises `StoreError` if the stores do not answer."""
        for job in self._jobs:
            if self._context.should_stop():
                return
            if self._context.brain.gate.read_mode() == OFF:
                yield make_step(job.evolver, WAITING, OFF_REASON)
                return
            yield from self._run_if_due(job)

    def run(self) -> Iterator[ScheduledStep]:
        """Run what is due, and wait, until it should stop.

        While the stores do not answer, it tries again with growing waits. A step that only repeats
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
            if not self._context.should_stop():
                self._wait(seconds)

    def _run_if_due(self, job: Job) -> Iterator[ScheduledStep]:
        context, now = self._context, self._context.clocks.now()
        if job.find_switch(context):
            return
        lease = read_job_lease(context.store, job, now)
        due = next_time(context, job, lease, now)
        if due is None or due > now:
            return
        if job.needs_model:
            reason = self._find_model_reason(now)
            if reason:
                yield make_step(job.evolver, WAITING, reason)
                return
        if job.works_off:
            yield from job.run(context)
            return
        other = take_job(context, job, now)
        if other is not None:
            yield make_step(job.evolver, BUSY, f"the scheduler {other.owner} does it")
            return
        yield from self._run_alone(job, now, lease.last)

    def _run_alone(self, job: Job, begun: int, before: int | None) -> Iterator[ScheduledStep]:
        """Run a job whose lease this process has; a failure of the job ends the lease too.

        One that may have been broken off by a stop is due again as it was `before`.
        """
        context = self._context
        try:
            yield from job.run(context)
        except Interrupted as error:
            yield make_step(job.evolver, WAITING, error.message)
        except ModelError as error:
            yield make_step(job.evolver, FAILED, self._pause(error))
        except BrainError as error:
            yield make_step(job.evolver, FAILED, error.message)
        finally:
            release_job(context, job, before if context.should_stop() else begun)

    def _pause(self, error: ModelError) -> str:
        """Pause the model for all jobs; return why, and until when."""
        context, model = self._context, self._context.model
        name = "" if model is None else model.model_name
        return describe_pause(add_failure(context.store, name, context.clocks.now(), error))

    def _find_model_reason(self, now: int) -> str:
        """Return why no model can be asked, "" if one can."""
        model: Model | None = self._context.model
        if model is None:
            return NO_MODEL_REASON
        pause = read_pause(self._context.store, model.model_name, now)
        return "" if pause is None else describe_pause(pause)
