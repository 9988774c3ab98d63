"""One attempt at one gap, from its count under the limits to what became of it.

What it has done is kept with the item of the queue, so that a process that takes it over goes on
there: nothing is counted, paid, kept or logged twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...errors import (
    BrainError,
    Conflict,
    InvalidInput,
    Locked,
    ModelError,
    SandboxError,
    StoreError,
)
from ...models.calls import Bill
from ...programs import PROGRAM_FILE
from ...programs.program import fit_summary
from ...repo.learning.change import ProposedChange
from ...repo.learning.gate import Gate
from ...results import GapResult, GateOutcome
from ..acquire import build_edit
from ..audited_end import append_again
from ..call_receipt import build_call_receipt
from ..held_work import HeldWork
from ..material import RelatedMaterial
from ..model_runner import ModelRunner
from ..prompts import GENERATED_CATEGORY
from ..saved_answers import Interrupted, SavedAnswers
from ..transcript import mask_text
from . import gap_audit
from .gap_audit import build_gap_event
from .gap_context import build_gap_message, hide_held_out, list_proposed_skills
from .gap_conversation import (
    GAPS_AGENT,
    CheckedDraft,
    GapConversation,
    LostAnswer,
    RefusedDraft,
)
from .gap_limits import GAP_LIMITS, rate_key, time_until_free
from .gap_memory import remember_capability
from .gap_progress import GapProgress, parse_progress
from .gap_queue import (
    SUPERSEDED,
    EndedAttempt,
    find_waiting_proposal,
    list_refused,
    parse_ended,
)
from .gap_score import format_score
from .open_gaps import GAPS, OpenGap, find_open_gap

if TYPE_CHECKING:
    from ...experience.experience_protocol import ExperienceStore
    from ...models import Model
    from ..drafts import ToolDraft
    from .brain_protocol import GapBrain, ProposingGate

MAX_FAILURES_OF_MODEL = 3
"""Failures of the model during one attempt."""
_HELD_OUT_REASON = "its goal repeats the input of a held-out case, which no model is shown"
MAX_TAKEOVERS = 10
"""Times that a process goes on with an attempt that has begun."""


class _AttemptEnd(Exception):
    """Leaves an attempt at its end."""

    def __init__(self, ended: EndedAttempt) -> None:
        super().__init__(ended.reason)
        self.ended = ended


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptContext:
    """What all attempts of one run share.

    Without a `gate` each attempt has its own, whose answers of the model are kept with its item.
    """

    brain: GapBrain
    store: ExperienceStore
    gate: ProposingGate | None
    model: Model
    now: int


class GapAttempt:
    """One attempt at one gap."""

    def __init__(self, context: AttemptContext, held: HeldWork, gap: OpenGap) -> None:
        from ...models.paid_once import MeteredModel

        self._bill = Bill()
        model = MeteredModel(context.model, lambda _: None, self._bill.add)
        self._context = replace(context, model=model)
        self._held = held
        self._work = held.work
        self._gap = gap
        self._progress = parse_progress(self._work.progress)
        self._conversation: GapConversation | None = None
        self._outcome: GateOutcome | None = None
        self._material = RelatedMaterial(context.brain)
        self._not_before = 0
        self.model_error: ModelError | None = None
        """Why the model failed in this attempt, None if it did not."""

    def make(self) -> GapResult | None:
        """Make the attempt, finish its item, and return what became of it.

        None if the goal succeeded or failed again before, or if the model failed: then another
        attempt goes on later. Raises `Interrupted`, `StoreError`, or `Conflict` (`work_lost`).
        """
        if self._progress.event is not None:
            append_again(self._context.store, self._progress.event)
            if self._progress.ended:
                return self._end_item()
            self._keep(replace(self._progress, event=None, is_limited=True))
        if not self._progress.is_counted and not self._is_current():
            self._context.store.finish_work(self._work, SUPERSEDED)
            return None
        try:
            ended = self._attempt()
        except _AttemptEnd as error:
            ended = error.ended
            if ended.phase == gap_audit.RATE_PHASE:
                return self._leave(ended)
        except Interrupted:  # the request that was begun has not been made
            self._keep(replace(self._progress, requests=self._progress.answers))
            raise
        except ModelError as error:
            self.model_error = error
            self._keep(self._progress.with_failure())
            if self._progress.failures < MAX_FAILURES_OF_MODEL:
                self._context.store.release_work(self._work)
                return None
            ended = _end(gap_audit.MODEL_PHASE, gap_audit.FAILED, error.message).ended
        return self._finish(ended)

    def _is_current(self) -> bool:
        """Tell whether the goal failed as often as when it was queued, and is still open."""
        current = find_open_gap(self._context.store, self._gap.key)
        return current is not None and current.episode == self._gap.episode

    def _attempt(self) -> EndedAttempt:
        """Go through the attempt. Raises `_AttemptEnd`, `ModelError`."""
        if not self._progress.admitted:
            shown = hide_held_out(self._material.held_out, self._gap)
            if shown is None:
                raise _end(gap_audit.MODEL_PHASE, gap_audit.SKIPPED, _HELD_OUT_REASON)
            if self._progress.is_counted:
                self._take_over()
            else:
                self._stop_if_proposed()
                self._count()
            self._propose(self._converse(shown))
        return self._remember()

    def _take_over(self) -> None:
        """Note that this process goes on with the attempt; a few may do so."""
        self._keep(replace(self._progress, takeovers=self._progress.takeovers + 1))
        if self._progress.takeovers > MAX_TAKEOVERS:
            reason = f"{MAX_TAKEOVERS} processes ended during it"
            raise _end(gap_audit.INTERRUPTED_PHASE, gap_audit.FAILED, reason)

    def _stop_if_proposed(self) -> None:
        """End the attempt while a proposal for the gap waits for a person."""
        items = self._context.store.list_work(GAPS)
        waiting = find_waiting_proposal(self._gap, items, self._context.brain.gate.is_proposed)
        if waiting is not None:
            raise _AttemptEnd(replace(waiting, reason=f"{waiting.proposal} waits for a person"))

    def _count(self) -> None:
        """Count the attempt under the limits."""
        try:
            limit = self._take()
        except StoreError as error:
            reason = f"attempts cannot be counted: {error.message}"
            raise _end(gap_audit.RATE_PHASE, gap_audit.SKIPPED, reason) from error
        if limit:
            self._keep(replace(self._progress, counting_at=0))
            self._not_before = time_until_free(limit, self._context.now)
            raise _end(gap_audit.RATE_PHASE, gap_audit.SKIPPED, f"the {limit} limit is reached")
        proposed = list_proposed_skills(self._context.brain)
        self._keep(replace(self._progress, is_counted=True, proposed=proposed))

    def _take(self) -> str:
        """Count the attempt, and return the limit that is reached, "" if it counts.

        If the counts of a process that died here have grown, it has counted the attempt. Raises
        `StoreError`.
        """
        begun, now = self._progress.counting_at, self._context.now
        if begun and self._read_counts(begun) != self._progress.counts_before:
            return ""
        counts = self._read_counts(now)
        self._keep(replace(self._progress, counting_at=now, counts_before=counts))
        return self._context.store.take(self._rate_key(), GAP_LIMITS, now)

    def _read_counts(self, at: int) -> tuple[int, ...]:
        counts = self._context.store.read(self._rate_key(), GAP_LIMITS, at)
        return tuple(counts[limit.name] for limit in GAP_LIMITS)

    def _rate_key(self) -> str:
        return rate_key(self._context.brain.id)

    def _leave(self, ended: EndedAttempt) -> GapResult:
        """Leave the item in the queue until the limit is over; the audit says once why."""
        if not self._progress.is_limited:
            self._log(ended)
            self._keep(replace(self._progress, event=None, is_limited=True))
        if self._not_before:
            self._context.store.renew_work(self._work, self._context.now, self._not_before)
        return describe_attempt(self._gap, ended)

    def _converse(self, shown: OpenGap) -> CheckedDraft:
        """Return a draft that passed. Raises `_AttemptEnd`, `ModelError`."""
        context = self._context
        conversation = GapConversation(
            brain=context.brain,
            model=context.model,
            progress=self._progress,
            keep_progress=self._keep,
            answers=SavedAnswers(context.store, self._work),
            held_out=self._material.held_out,
        )
        self._conversation = conversation
        refused = list_refused(self._gap, context.store.list_work(GAPS))
        try:
            draft = conversation.ask_for_draft(
                build_gap_message(context.brain, self._material, shown, refused)
            )
        except LostAnswer as error:
            raise _end(gap_audit.INTERRUPTED_PHASE, gap_audit.FAILED, error.message) from error
        except SandboxError as error:
            raise _end(gap_audit.VALIDATION_PHASE, gap_audit.FAILED, error.message) from error
        if isinstance(draft, CheckedDraft):
            return draft
        if isinstance(draft, RefusedDraft):
            raise self._refuse(draft)
        reason = draft.reason or "no skill would help"
        raise _end(gap_audit.MODEL_PHASE, gap_audit.SKIPPED, reason)

    def _refuse(self, refused: RefusedDraft) -> _AttemptEnd:
        """Keep a refused program, and return the end of the attempt."""
        draft = refused.draft
        attempt = _keep_refused_draft(self._context.brain, draft, self._message()) if draft else ""
        return _end(
            gap_audit.VALIDATION_PHASE,
            gap_audit.REJECTED,
            refused.fault,
            name=draft.name if draft else "",
            attempt=attempt,
        )

    def _propose(self, checked: CheckedDraft) -> None:
        """Propose the program to the gate. Raises `_AttemptEnd` unless it is admitted."""
        draft, context = checked.draft, self._context
        request = build_edit(context.brain, checked.program, draft.program.description)
        calls = self._conversation.calls if self._conversation else []
        change = ProposedChange(
            name=draft.slug,
            evolver=GAPS,
            description=request.description,
            body=request.body,
            files=request.files,
            base=checked.base,
            category=GENERATED_CATEGORY,
            message=self._message(),
            receipt=build_call_receipt(
                f"Fill a gap: {self._gap.goal}", GAPS_AGENT, context.model.model_name, calls
            ),
        )
        name = draft.name
        try:
            outcome = (context.gate or self._make_gate()).propose(change)
        except (
            ModelError,
            Locked,
            StoreError,
            Interrupted,
        ):  # another attempt goes on with the answers
            raise
        except Conflict as error:
            if error.code == "work_lost":
                raise
            raise _end(gap_audit.GATE_PHASE, gap_audit.FAILED, error.message, name=name) from error
        except BrainError as error:
            raise _end(gap_audit.GATE_PHASE, gap_audit.FAILED, error.message, name=name) from error
        self._outcome = outcome
        if outcome.done == "proposed":
            raise _end(
                gap_audit.PROPOSED_PHASE,
                gap_audit.SKIPPED,
                outcome.reason or "it waits for a person",
                name=name,
                proposal=outcome.proposal,
            )
        if outcome.done not in ("admitted", "nothing"):
            raise _end(
                gap_audit.GATE_PHASE,
                gap_audit.REJECTED,
                outcome.reason,
                name=name,
                attempt=outcome.attempt,
            )
        self._keep(replace(self._progress, admitted=name, admitted_at=context.now))

    def _make_gate(self) -> Gate:
        """Return a gate that pays no answer twice, and records nothing if the item is lost."""
        from ...models.paid_once import PaidOnce

        answers = SavedAnswers(self._context.store, self._work)
        runner = ModelRunner(PaidOnce(self._context.model, answers))
        return self._context.brain.gate.open(text_runner=runner, confirm=self._held.confirm)

    def _remember(self) -> EndedAttempt:
        """Remember the admitted capability, and end with success."""
        name, reason = self._progress.admitted, ""
        try:
            remember_capability(self._context.brain, self._gap, name, self._progress.admitted_at)
        except BrainError as error:
            reason = f"it is not in the memory: {error.message}"
        return EndedAttempt(
            phase=gap_audit.COMPLETE_PHASE, result=gap_audit.SUCCESS, reason=reason, name=name
        )

    def _message(self) -> str:
        return mask_text(f"Fill a gap: {' '.join(self._gap.goal.split())}")

    def _keep(self, progress: GapProgress) -> None:
        self._context.store.keep_progress(self._work, progress.encode())
        self._progress = progress

    def _finish(self, ended: EndedAttempt) -> GapResult:
        """Append the event of the end, and end the item."""
        self._log(ended, is_end=True)
        return self._end_item()

    def _log(self, ended: EndedAttempt, *, is_end: bool = False) -> None:
        """Append an event, which is kept before: if a process dies now, it is appended once."""
        event = build_gap_event(
            self._gap,
            self._context.now,
            ended.phase,
            ended.result,
            name=ended.name,
            reason=ended.reason,
        )
        self._keep(replace(self._progress, event=event, ended=ended.encode() if is_end else ""))
        self._context.store.append_event(event)

    def _end_item(self) -> GapResult:
        """Finish the item with the end that was kept."""
        result = self._progress.ended
        self._context.store.finish_work(self._work, result)
        return describe_attempt(self._gap, parse_ended(result))._replace(
            outcome=self._outcome,
            requests=self._bill.requests,
            tokens_in=self._bill.tokens_in,
            tokens_out=self._bill.tokens_out,
        )


def _end(
    phase: str, result: str, reason: str, *, name: str = "", attempt: str = "", proposal: str = ""
) -> _AttemptEnd:
    return _AttemptEnd(
        EndedAttempt(
            phase=phase,
            result=result,
            reason=reason,
            name=name,
            attempt=attempt,
            proposal=proposal,
        )
    )


def describe_attempt(gap: OpenGap, ended: EndedAttempt) -> GapResult:
    """Return what became of a gap as a result."""
    return GapResult(
        key=gap.key,
        goal=gap.goal,
        score=format_score(gap.score.percent),
        capability_name=ended.name,
        slug=ended.slug,
        phase=ended.phase,
        result=ended.result,
        reason=ended.reason,
    )


def _keep_refused_draft(brain: GapBrain, draft: ToolDraft, message: str) -> str:
    """Keep a refused program with its fault; return the name of the attempt.

    "" if it cannot be a snapshot, such as one that is too large. An equal attempt is kept once.
    """
    code = draft.program.code.encode("utf-8", "replace")
    fault = fit_summary(draft.fault)
    for known in brain.programs.attempts(draft.slug):
        kept = brain.programs.read_attempt(known.attempt).files
        if known.reason == fault and kept.get(PROGRAM_FILE) == code:
            return known.attempt
    change = ProposedChange(
        name=draft.slug,
        evolver=GAPS,
        description=draft.program.description,
        files={PROGRAM_FILE: code},
        category=GENERATED_CATEGORY,
        message=message,
        fault=fault,
    )
    try:
        return brain.gate.open().propose(change).attempt
    except (InvalidInput, Conflict):  # the fault is in the audit, and shown all the same
        return ""
