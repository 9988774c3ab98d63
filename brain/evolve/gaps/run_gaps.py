"""Learn from the goals that fail: write a skill for each gap that is due, and propose it.

Each attempt goes this way, and each end of it is one event of the audit:

1. An item of the queue is claimed: a goal with the failures that it had.
2. The attempt is counted under the limits, before anything is spent.
3. The model writes a program, which passes four checks of its code; after a refused answer it may
   try again, a few times in all.
4. The gate tries the program on held-out cases, and admits it, proposes it to a person, or keeps
   it as a rejected attempt.
5. What was admitted becomes a record of the memory, so that later prompts know of it.

A process that takes over an attempt of a killed one goes on where that stopped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...errors import BrainError, Conflict, InvalidInput, ModelError, SandboxError, StoreError
from ...repo.open.gap_policy import ALLOW
from ...repo.open.manifest import OFF
from ...repo.programs.acquire import AcquireRequest, TrialOptions
from ...results import GapResult, GateOutcome
from ...sandbox.find_sandbox import find_sandbox
from ..acquire import build_request
from ..answer_check import NoSkill
from ..call_receipt import build_call_receipt
from ..evolution_mode import require_evolution
from ..gate.gate import Gate
from ..gate.model_runner import ModelRunner
from ..gate.proposed_change import ProposedChange
from ..transcript import mask_text
from . import gap_audit
from .gap_audit import append_gap_event
from .gap_context import build_gap_message, hide_held_out
from .gap_conversation import (
    GAPS_AGENT,
    CheckedDraft,
    GapConversation,
    LostAnswer,
    RefusedDraft,
)
from .gap_draft import GENERATED_PROFILE, GapDraft
from .gap_limits import GAP_LIMITS, rate_key
from .gap_memory import remember_capability
from .gap_progress import GapProgress, parse_progress
from .gap_prompt import GENERATED_CATEGORY
from .gap_queue import (
    SUPERSEDED,
    EndedAttempt,
    list_proposed,
    queue_open_gaps,
)
from .gap_score import format_score
from .open_gaps import GAPS, OpenGap, find_open_gap, parse_gap_work

if TYPE_CHECKING:
    from ...experience.experience_protocol import ClaimedWork, ExperienceStore, RateStore
    from ...repo.gate.held_out_filter import HeldOutFilter
    from ..model import Model
    from .brain_protocol import GapBrain, ProposingGate

LEASE_MS = 30 * 60_000
"""An attempt takes no longer; if its process is killed, another one takes it over then."""
MAX_CLAIMS = 10
_HELD_OUT_REASON = "its goal repeats the input of a held-out case, which no model is shown"
_MAX_ATTEMPTS = 100
"""Items that one call works off."""


def run_gaps(
    brain: GapBrain,
    model: Model | None,
    *,
    now: int,
    taken: Collection[str] = (),
    gate: ProposingGate | None = None,
) -> list[GapResult]:
    """Attempt the gaps that are due, and return what became of each; `now` is ms since 1970.

    `taken` are names of tools that no skill can have. Without a model or a sandbox nothing is
    attempted, and the results say so; nor is anything if the environment turns gaps off. Raises
    `Conflict` (`evolution_off`), `InvalidInput` (`bad_manifest`), or `StoreError` if the store of
    experience does not work.
    """
    require_evolution(brain)
    if brain.gaps.read_mode() == OFF:
        return []
    stores = brain.gaps.open_stores()
    run = _GapRun(
        brain=brain,
        store=stores.store,
        rates=stores.rates,
        now=now,
        taken=taken,
        gate=gate or Gate(brain, text_runner=ModelRunner(model) if model else None),
    )
    run.remember_accepted()
    if brain.gaps.read_policy().periodic:
        queue_open_gaps(run.store, now)
    obstacle = _find_obstacle(model)
    if model is None or obstacle:
        return [run.leave(gap, obstacle) for gap in run.list_waiting()]
    return list(run.attempt_all(model))


def _find_obstacle(model: Model | None) -> str:
    """Return why nothing can be attempted, "" if it can."""
    if model is None:
        return "no model is configured; choose one with `brain config model`"
    try:
        find_sandbox()
    except SandboxError as error:
        return error.message
    return ""


class _Ended(Exception):
    """Ends an attempt with a phase and a result."""

    def __init__(
        self, phase: str, result: str, reason: str, *, name: str = "", detail: str = ""
    ) -> None:
        super().__init__(reason)
        self.phase = phase
        self.result = result
        self.reason = reason
        self.name = name
        self.detail = detail


@dataclass(kw_only=True)
class _GapRun:
    """One call of `run_gaps`."""

    brain: GapBrain
    store: ExperienceStore
    rates: RateStore
    now: int
    taken: Collection[str]
    gate: ProposingGate

    def list_waiting(self) -> Iterator[OpenGap]:
        """Yield the gaps in the queue."""
        for item, result in self.store.list_work(GAPS):
            gap = parse_gap_work(item)
            if not result and gap is not None:
                yield gap

    def leave(self, gap: OpenGap, reason: str) -> GapResult:
        """Return the result of a gap that is left in the queue."""
        return _describe(gap, _Ended(gap_audit.MODEL_PHASE, gap_audit.SKIPPED, reason))

    def attempt_all(self, model: Model) -> Iterator[GapResult]:
        """Work off the queue."""
        for _ in range(_MAX_ATTEMPTS):
            work = self.store.claim_work(GAPS, self.now, LEASE_MS, MAX_CLAIMS)
            if work is None:
                return
            gap = parse_gap_work(work.item)
            if gap is None:
                self.store.finish_work(work, SUPERSEDED)
                continue
            try:
                result = _Attempt(run=self, work=work, gap=gap, model=model).make()
            except Conflict as error:
                if error.code != "work_lost":  # another process took it over, and ends it
                    raise
            else:
                if result is not None:
                    yield result

    def remember_accepted(self) -> None:
        """Remember the capabilities that were proposed, and that a person has accepted since."""
        proposed = list_proposed(self.store.list_work(GAPS))
        if not proposed:
            return
        programs = self.brain.programs.list()
        runnable = {program.slug for program in programs if program.status == "runnable"}
        for item, slug in proposed:
            gap = parse_gap_work(item)
            note = f"gaps/accepted/{slug}"
            if gap is None or slug not in runnable or self.store.read_note(note) is not None:
                continue
            name = slug.replace("-", "_")
            remember_capability(self.brain, gap, name, self.now)
            if self.store.write_note(note, None, str(self.now)):
                ended = gap_audit.COMPLETE_PHASE, gap_audit.SUCCESS
                append_gap_event(self.store, gap, self.now, *ended, name=name)


@dataclass(kw_only=True)
class _Attempt:
    """One attempt at one gap."""

    run: _GapRun
    work: ClaimedWork
    gap: OpenGap
    model: Model

    def __post_init__(self) -> None:
        self._progress = parse_progress(self.work.progress)
        self._conversation: GapConversation | None = None
        self._outcome: GateOutcome | None = None

    def make(self) -> GapResult | None:
        """Make the attempt, finish its item, and return what became of it.

        None if the goal succeeded or failed again before. Raises `StoreError`, or `Conflict`
        (`work_lost`).
        """
        if not self._progress.is_counted and not self._is_current():
            self.run.store.finish_work(self.work, SUPERSEDED)
            return None
        try:
            ended = self._attempt()
        except _Ended as reason:
            ended = reason
        return self._finish(ended)

    def _is_current(self) -> bool:
        """Tell whether the goal failed as often as when it was queued, and is still open."""
        current = find_open_gap(self.run.store, self.gap.key)
        return current is not None and current.episode == self.gap.episode

    def _attempt(self) -> _Ended:
        if not self._progress.admitted:
            held_out = self.run.brain.gate.read_held_out_filter()
            shown = hide_held_out(held_out, self.gap)
            if shown is None:
                raise _Ended(gap_audit.MODEL_PHASE, gap_audit.SKIPPED, _HELD_OUT_REASON)
            self._count()
            checked = self._converse(shown, held_out)
            self._propose(checked)
        return self._remember()

    def _count(self) -> None:
        """Count the attempt under the limits, once."""
        if self._progress.is_counted:
            return
        try:
            limit = self.run.rates.take(rate_key(self.run.brain.id), GAP_LIMITS, self.run.now)
        except StoreError as error:
            if self.run.brain.gaps.read_policy().when_rates_fail != ALLOW:
                reason = f"attempts cannot be counted: {error.message}"
                raise _Ended(gap_audit.RATE_PHASE, gap_audit.SKIPPED, reason) from error
            limit = ""
        if limit:
            reason = f"the {limit} limit is reached"
            raise _Ended(gap_audit.RATE_PHASE, gap_audit.SKIPPED, reason)
        self._keep(replace(self._progress, is_counted=True))

    def _converse(self, shown: OpenGap, held_out: HeldOutFilter) -> CheckedDraft:
        """Return a draft that passed. Raises `_Ended`."""
        conversation = GapConversation(
            brain=self.run.brain,
            model=self.model,
            progress=self._progress,
            keep=self._keep,
            held_out=held_out,
            taken=self.run.taken,
        )
        self._conversation = conversation
        try:
            draft = conversation.ask_for_draft(build_gap_message(self.run.brain, shown))
        except ModelError as error:
            raise _Ended(gap_audit.MODEL_PHASE, gap_audit.FAILED, error.message) from error
        except LostAnswer as error:
            raise _Ended(gap_audit.INTERRUPTED_PHASE, gap_audit.FAILED, error.message) from error
        except SandboxError as error:
            raise _Ended(gap_audit.VALIDATION_PHASE, gap_audit.FAILED, error.message) from error
        if isinstance(draft, NoSkill):
            reason = draft.reason or "no skill would help"
            raise _Ended(gap_audit.MODEL_PHASE, gap_audit.SKIPPED, reason)
        if isinstance(draft, RefusedDraft):
            name = draft.draft.name if draft.draft else ""
            attempt = self._keep_rejected(draft.draft) if draft.draft else ""
            raise _Ended(
                gap_audit.VALIDATION_PHASE,
                gap_audit.REJECTED,
                draft.fault,
                name=name,
                detail=attempt,
            )
        return draft

    def _keep_rejected(self, draft: GapDraft) -> str:
        """Keep a program that fails the checks as a rejected attempt; return its name."""
        request = AcquireRequest(
            name=draft.slug,
            files={"skill.py": draft.program.code.encode("utf-8", "replace")},
            description=draft.program.description,
            message=self._message(),
            category=GENERATED_CATEGORY,
            options=TrialOptions(decided_by=GAPS, code_profile=GENERATED_PROFILE),
        )
        try:
            return self.run.brain.programs.acquire(request).attempt
        except InvalidInput:  # what is no program at all cannot be kept
            return ""

    def _propose(self, checked: CheckedDraft) -> None:
        """Propose the program to the gate. Raises `_Ended` unless it is admitted."""
        draft = checked.draft
        request = build_request(self.run.brain, checked.program, draft.program.description)
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
                f"Fill a gap: {self.gap.goal}", GAPS_AGENT, self.model.name, calls
            ),
        )
        try:
            outcome = self.run.gate.propose(change)
        except BrainError as error:
            raise _Ended(
                gap_audit.GATE_PHASE, gap_audit.FAILED, error.message, name=draft.name
            ) from error
        self._outcome = outcome
        if outcome.done == "proposed":
            raise _Ended(
                gap_audit.PROPOSED_PHASE,
                gap_audit.SKIPPED,
                outcome.reason or "it waits for a person",
                name=draft.name,
                detail=f"{outcome.slug} {outcome.proposal}",
            )
        if outcome.done not in ("admitted", "nothing"):
            raise _Ended(
                gap_audit.GATE_PHASE,
                gap_audit.REJECTED,
                outcome.reason,
                name=draft.name,
                detail=outcome.attempt,
            )
        self._keep(replace(self._progress, admitted=draft.name, admitted_at=self.run.now))

    def _remember(self) -> _Ended:
        """Remember the admitted capability, and end with success."""
        name, reason = self._progress.admitted, ""
        try:
            remember_capability(self.run.brain, self.gap, name, self._progress.admitted_at)
        except BrainError as error:
            reason = f"it is not in the memory: {error.message}"
        return _Ended(gap_audit.COMPLETE_PHASE, gap_audit.SUCCESS, reason, name=name)

    def _message(self) -> str:
        return mask_text(f"Fill a gap: {' '.join(self.gap.goal.split())}")

    def _keep(self, progress: GapProgress) -> None:
        self.run.store.keep_progress(self.work, progress.encode())
        self._progress = progress

    def _finish(self, ended: _Ended) -> GapResult:
        """End the item and append the event; if a process dies between, the event comes twice."""
        append_gap_event(
            self.run.store,
            self.gap,
            self.run.now,
            ended.phase,
            ended.result,
            name=ended.name,
            reason=ended.reason,
        )
        result = EndedAttempt(ended.phase, ended.result, ended.detail)
        self.run.store.finish_work(self.work, result.encode())
        calls = self._conversation.calls if self._conversation else []
        return _describe(self.gap, ended)._replace(
            outcome=self._outcome,
            requests=len(calls),
            tokens_in=sum(call.answer.tokens_in for call in calls),
            tokens_out=sum(call.answer.tokens_out for call in calls),
        )


def _describe(gap: OpenGap, ended: _Ended) -> GapResult:
    return GapResult(
        key=gap.key,
        goal=gap.goal,
        score=format_score(gap.score.percent),
        capability_name=ended.name,
        slug=ended.name.replace("_", "-"),
        phase=ended.phase,
        result=ended.result,
        reason=ended.reason,
    )
