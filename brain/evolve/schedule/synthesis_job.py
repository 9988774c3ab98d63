"""Learn from queued hard runs, one at a time; safe to be killed at any step.

1. An item is claimed, and its lease renewed: no other process works on it meanwhile.
2. Each answer of the model is stored before it is used.
3. The drafted change is kept before the gate gets it. An attempt that was killed goes on there:
   the gate knows a change that it has recorded already.
4. The item is finished with what became of the change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...errors import (
    BrainError,
    Conflict,
    FormatError,
    InvalidInput,
    ModelError,
    NotFound,
    printable_text,
)
from ...experience.experience_protocol import AuditEvent
from ...results import GateOutcome, ScheduledStep
from ..held_work import HeldWork
from ..saved_answers import Interrupted, SavedAnswers
from ..synthesis import build_change, draft_skill, propose_change
from .hard_runs import HardRun, parse_hard_run
from .job_types import (
    BUSY,
    DONE,
    FAILED,
    NO_MODEL_REASON,
    SYNTHESIS,
    SYNTHESIS_LIMITS,
    WAITING,
    JobContext,
    make_step,
)
from .pauses import add_failure, describe_pause, end_pause, read_pause
from .work_progress import PreparedChange, WorkProgress, decode_progress, encode_progress

if TYPE_CHECKING:
    from ...experience.experience_protocol import ClaimedWork
    from ...models import Model
    from ...repo.learning.change import ProposedChange

LEASE_MS = 15 * 60_000
"""How long an item is this process's unless it renews the lease, as it does while it works.

After a kill, another attempt begins then at the latest.
"""
WORK_SECONDS = 8 * 60.0
"""After so long no further request is made; another attempt goes on with the answers so far."""
MAX_CLAIMS = 50
"""Claims of one item, also those that were killed; then the store gives it up."""
MAX_FAILURES = 5
MAX_BAD_ANSWERS = 2
"""Attempts at one item with a model that gives no acceptable answer; each has several requests."""
_FINAL_FAULTS = ("answer_cut", "answer_too_large", "model_limit", "too_long")
"""Codes of failures that an equal request would meet again, so none is made."""
_MAX_REASON_CHARS = 400


def work_off_hard_runs(context: JobContext) -> Iterator[ScheduledStep]:
    """Learn from queued runs until there is none, or something says to wait."""
    model = context.metered_model(SYNTHESIS)
    if model is None:
        yield make_step(SYNTHESIS, WAITING, NO_MODEL_REASON)
        return
    while not context.should_stop():
        now = context.clocks.now()
        reason = find_reason_to_wait(context, model, now)
        if reason:
            yield make_step(SYNTHESIS, WAITING, reason)
            return
        work = context.store.claim_work(SYNTHESIS, now, LEASE_MS, MAX_CLAIMS)
        if work is None:
            return
        step = _Attempt(context=context, model=model, work=work).make()
        yield step
        if step.result == WAITING:
            return


def find_reason_to_wait(context: JobContext, model: Model, now: int) -> str:
    """Return why the model is not asked now, "" if it may be."""
    pause = read_pause(context.store, model.model_name, now)
    if pause is not None:
        return describe_pause(pause)
    counts = context.store.read(context.rate_key(SYNTHESIS), SYNTHESIS_LIMITS, now)
    reached = [limit for limit in SYNTHESIS_LIMITS if counts.get(limit.name, 0) >= limit.most]
    return _limit_reason(reached[0].name) if reached else ""


def _limit_reason(limit: str) -> str:
    return f"the limit of attempts per {limit} is reached"


@dataclass(kw_only=True)
class _Attempt:
    """One attempt at one item."""

    context: JobContext
    model: Model
    work: ClaimedWork

    def make(self) -> ScheduledStep:
        """Learn from the item; failures are in the step. Raises `StoreError`."""
        context = self.context
        self._progress = decode_progress(self.work.progress)
        self._end_at = context.clocks.seconds() + WORK_SECONDS
        held = HeldWork(
            store=context.store,
            work=self.work,
            lease=LEASE_MS,
            now=context.clocks.now,
            wait=context.clocks.wait,
        )
        try:
            with held.hold():
                return self._learn(held)
        except Interrupted as error:
            if error.cause is not None:
                self._pause(error.cause)
            return self._step(WAITING, error.message)
        except Conflict as error:
            return self._step(BUSY, error.message)

    def _learn(self, held: HeldWork) -> ScheduledStep:
        """Make the attempt. Raises `Interrupted`, `StoreError`, or `Conflict` (`work_lost`)."""
        try:
            run = parse_hard_run(self.work)
            answers = SavedAnswers(self.context.store, self.work, start=self._progress.starts)
            if answers.is_empty and self._progress.prepared is None:
                store, now = self.context.store, self.context.clocks.now()
                limit = store.take(self.context.rate_key(SYNTHESIS), SYNTHESIS_LIMITS, now)
                if limit:
                    return self._step(WAITING, _limit_reason(limit))
            from ...models.paid_once import PaidOnce

            model = PaidOnce(self.model, answers, self._check_may_ask)
            prepared = self._progress.prepared or self._prepare(run, model)
            outcome = self._propose(prepared.change, model, held)
            return self._finish(run, prepared, outcome)
        except ModelError as error:
            return self._fail_model(error)
        except Conflict as error:
            if error.code == "work_lost":
                raise
            return self._fail(error, MAX_FAILURES, starts=self._progress.starts + 1)
        except (FormatError, InvalidInput, NotFound) as error:
            return self._give_up(error)

    def _prepare(self, run: HardRun, model: Model) -> PreparedChange:
        """Ask the model for a draft, and keep the change that follows."""
        brain = self.context.brain
        receipt = run.receipt or brain.receipts.read_run(run.snapshot)
        drafted = draft_skill(brain, receipt, model, run.trigger)
        change = build_change(receipt, model, drafted)
        prepared = PreparedChange(
            change=change, slug=drafted.draft.slug, reason=drafted.draft.reason
        )
        self._keep(replace(self._progress, prepared=prepared))
        return prepared

    def _propose(
        self, change: ProposedChange | None, model: Model, held: HeldWork
    ) -> GateOutcome | None:
        """Propose the change that was kept. Raises `Interrupted` if the model fails meanwhile."""
        try:
            return propose_change(self.context.brain, change, model, held.confirm)
        except ModelError as error:
            raise Interrupted(error.message, error) from error

    def _check_may_ask(self) -> None:
        """Raise `Interrupted` if the time is over, or if the scheduler ends."""
        if self.context.should_stop():
            raise Interrupted("the scheduler ends")
        if self.context.clocks.seconds() > self._end_at:
            raise Interrupted("the time of this attempt is over")

    def _keep(self, progress: WorkProgress) -> None:
        self.context.store.keep_progress(self.work, encode_progress(progress))
        self._progress = progress

    def _finish(
        self, run: HardRun, prepared: PreparedChange, outcome: GateOutcome | None
    ) -> ScheduledStep:
        end_pause(self.context.store)
        done = outcome.done if outcome else "nothing"
        reason = outcome.reason if outcome else prepared.reason
        result = {"admitted": "success", "proposed": "success", "nothing": "skipped"}.get(
            done, "rejected"
        )
        self._end(result, done, reason, run.trigger, prepared.slug)
        text = f"{done}: {reason}" if reason else done
        return self._step(DONE, text, slug=prepared.slug, outcome=outcome)

    def _pause(self, error: ModelError) -> None:
        context = self.context
        add_failure(context.store, self.model.model_name, context.clocks.now(), error)

    def _fail_model(self, error: ModelError) -> ScheduledStep:
        """Pause; the next attempt goes on, unless all of the answers were refused."""
        self._pause(error)
        if error.code in _FINAL_FAULTS:
            return self._give_up(error)
        if error.code == "bad_answer":
            return self._fail(error, MAX_BAD_ANSWERS, starts=self._progress.starts + 1)
        return self._fail(error, MAX_FAILURES, starts=self._progress.starts)

    def _fail(self, error: BrainError, most: int, *, starts: int) -> ScheduledStep:
        """Count a failure; the next attempt uses the answers since so many starts."""
        failures = self._progress.failures + 1
        if failures >= most:
            return self._give_up(error)
        self._keep(WorkProgress(failures=failures, starts=starts))
        return self._step(FAILED, f"{error.message} (attempt {failures} of {most})")

    def _give_up(self, error: BrainError) -> ScheduledStep:
        self._end("failed", "failed", error.message, "", "")
        return self._step(FAILED, f"given up: {error.message}")

    def _end(self, result: str, phase: str, reason: str, trigger: str, slug: str) -> None:
        """Finish the item, and append what became of it to the audit."""
        short = printable_text(reason, _MAX_REASON_CHARS)
        done = json.dumps({"result": result, "slug": slug, "reason": short})
        self.context.store.finish_work(self.work, done, data="")
        event = AuditEvent(
            at=self.context.clocks.now(),
            evolver=SYNTHESIS,
            name=slug,
            trigger_reason=f"{trigger},run={self.work.item.key},reason={short}".lstrip(","),
            phase=phase,
            result=result,
        )
        self.context.store.append_event(event)

    def _step(
        self, result: str, reason: str, *, slug: str = "", outcome: GateOutcome | None = None
    ) -> ScheduledStep:
        key = self.work.item.key
        return make_step(SYNTHESIS, result, reason, key=key, slug=slug, outcome=outcome)
