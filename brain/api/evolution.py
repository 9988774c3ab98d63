"""`brain.evolution`: learn from runs by a scheduler, and see what it would do next."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BrainError
from .locked_session import LockedSession, Part

if TYPE_CHECKING:
    from .. import results
    from ..evolve.gaps.brain_protocol import GapBrain
    from ..evolve.schedule.jobs import JobContext
    from ..evolve.schedule.transcript_folders import TranscriptFolders
    from ..models import Model
    from ..receipts import Receipt


class EvolutionPart(Part):
    """Work for models that waits in the store of experience, and the scheduler that does it."""

    def __init__(self, locked: LockedSession, brain: GapBrain) -> None:
        super().__init__(locked)
        self._brain = brain

    def run_due(
        self,
        model: Model | None,
        *,
        now: Callable[[], int] | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Iterator[results.ScheduledStep]:
        """Do what is due now, until it should stop: synthesis of queued runs, patterns, gaps.

        Without a model, what needs one waits; while another process learns from this brain, one
        step says so. `now` returns the time in ms since 1970. Raises `StoreError` if the store of
        experience does not answer.
        """
        from ..evolve.schedule.scheduler import Scheduler

        context = self._context(model, now, should_stop)
        yield from Scheduler(context, time.sleep).run_due()

    def make_due(self) -> None:
        """Let patterns and gaps be due at once, and the model asked again although it failed.

        The limits of attempts stay. Raises `StoreError`.
        """
        from ..evolve.schedule.jobs import end_pause
        from ..evolve.schedule.scheduler import JOBS

        store = self._locked.open_experience()
        end_pause(store)
        for job in JOBS:
            job.set_last_run(store, None)

    def run(
        self,
        model: Model | None,
        stop: threading.Event,
        *,
        now: Callable[[], int] | None = None,
        wait: Callable[[float], object] | None = None,
    ) -> Iterator[results.ScheduledStep]:
        """Do what is due, again and again, until `stop` is set.

        An attempt that is interrupted so keeps its answers. `wait` waits for some seconds, by
        default until `stop` is set.
        """
        from ..evolve.schedule.scheduler import Scheduler

        context = self._context(model, now, stop.is_set)
        yield from Scheduler(context, wait or stop.wait).run()

    def status(
        self, model: str = "", *, now: Callable[[], int] | None = None
    ) -> results.EvolutionStatus:
        """Return what would be done next, what it has cost, and what was decided last.

        `model` is the name of the model that would be asked, "" for none.
        """
        from ..evolve.schedule.status import read_evolution_status

        return read_evolution_status(self._context(None, now, lambda: False), model)

    def count_cost(self, evolver: str, requests: int, tokens_in: int, tokens_out: int) -> None:
        """Count what was paid for an evolver outside of the scheduler, for `status`.

        If the store of experience does not answer, this is lost, and logged.
        """
        from ..evolve.schedule.jobs import add_cost

        paid = requests, tokens_in, tokens_out
        try:
            add_cost(self._locked.session.experience, evolver, *paid)
        except BrainError as error:
            import logging

            logging.getLogger(__name__).warning("a cost is not counted: %s", error.message)

    def queue_run(self, run: Receipt) -> bool:
        """Queue an imported run to learn from, if it is hard; tell whether it was queued.

        A run is queued once. Raises `StoreError`, or `InvalidInput` (`bad_manifest`).
        """
        from ..evolve.schedule.hard_runs import queue_if_hard

        session = self._locked.session
        return self._locked.run(queue_if_hard, session.experience, run, session.timestamp_ms())

    def watch_transcripts(self, folders: Sequence[Path]) -> TranscriptFolders:
        """Return what queues hard runs of transcripts in folders, whenever it is polled."""
        from ..evolve.schedule.transcript_folders import TranscriptFolders

        session = self._locked.session
        return TranscriptFolders(folders, session.experience, self.queue_run, session.timestamp_ms)

    def take_no_model_notice(self) -> bool:
        """Tell whether to say that runs wait for a model; True once for a brain, if they do."""
        from ..evolve.schedule.hard_runs import take_no_model_notice

        return take_no_model_notice(self._locked.open_experience())

    def _context(
        self,
        model: Model | None,
        now: Callable[[], int] | None,
        should_stop: Callable[[], bool],
    ) -> JobContext:
        from ..evolve.schedule.jobs import JobContext, now_ms

        return JobContext(
            brain=self._brain,
            store=self._locked.open_experience(),
            model=model,
            now=now or now_ms,
            should_stop=should_stop,
        )
