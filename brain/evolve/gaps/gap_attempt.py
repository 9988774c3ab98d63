"""One attempt at one gap, from its count under the limits to what became of it."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
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
from ...experience import gaps as audit
from ...experience.gaps import (
    GAPS,
    SUPERSEDED,
    EndedAttempt,
    OpenGap,
    build_gap_event,
    find_open_gap,
    find_waiting_proposal,
    format_score,
    format_time,
    list_refused,
    read_gap,
)
from ...models.calls import Bill
from ...programs import PROGRAM_FILE
from ...programs.program import fit_summary
from ...receipts.budget import shorten_without_secrets
from ...repo.learning.change import ProposedChange
from ...results import GapResult, GateOutcome
from ...skills.visible_text import fold_to_line
from ..acquire import build_edit
from ..call_receipt import build_call_receipt
from ..evolution_mode import Interrupted
from ..material import RelatedMaterial
from ..model_runner import ModelRunner
from ..prompts import GENERATED_CATEGORY
from ..transcript import mask_text
from .gap_conversation import (
    ASKED,
    GAPS_AGENT,
    CheckedDraft,
    GapConversation,
    LostAnswer,
    RefusedDraft,
    build_gap_message,
    hide_held_out,
    list_proposed_skills,
)

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...experience.store import AuditEvent, Item
    from ...models import Model
    from ...repo.learning.gate import Gate
    from ..drafts import ToolDraft

MAX_FAILURES_OF_MODEL = 3
"""Failures of the model during one attempt."""
MAX_STARTS = 10
"""Processes that were killed during one attempt; then it ends."""
_HELD_OUT_REASON = "its goal repeats the input of a held-out case, which no model is shown"
_COUNTED, _LIMITED, _PROPOSED, _PROMPT, _ADMITTED, _FAILURES = (
    "counted",
    "limited",
    "proposed",
    "prompt",
    "admitted",
    "failures",
)
"""Steps of an item: it counts; the audit says that it waits; what was proposed when it began; what
the model is asked first; the capability that the gate admitted, and when; failures of the model."""
META_TARGET = "meta.jsonl"
"""The memory of these records: the file in memory/."""
META_SOURCE = "capability_evolution_engine"
MAX_CONTEXT_BYTES = 300
_TAGS = ("generated_skill", "capability_evolution")


class _AttemptEnd(Exception):
    """Leaves an attempt at its end."""

    def __init__(self, phase: str, result: str, reason: str, **more: str) -> None:
        super().__init__(reason)
        self.ended = EndedAttempt(phase=phase, result=result, reason=reason, **more)


class GapAttempt:
    """One attempt at one gap; `now` is ms since 1970.

    Without a `gate` it has its own, whose answers of the model are stored with the item.
    """

    def __init__(
        self,
        brain: Brain,
        model: Model,
        item: Item,
        now: int,
        gate: Gate | None = None,
    ) -> None:
        from ...models.paid_once import MeteredModel

        self._bill = Bill()
        self._brain = brain
        self._model = MeteredModel(model, lambda _: None, self._bill.add)
        self._item = item
        self._now = now
        self._gate = gate
        self._gap = read_gap(item.data)
        self._conversation: GapConversation | None = None
        self._outcome: GateOutcome | None = None
        self._material = RelatedMaterial(brain)
        self.model_error: ModelError | None = None
        """Why the model failed in this attempt, None if it did not."""

    def make(self) -> GapResult | None:
        """Make the attempt, finish its item, and return what became of it.

        None if the goal succeeded or failed again before, if another process ended the item, or if
        the model failed: see `model_error`. Raises `Interrupted`, or `StoreError`; another attempt
        goes on later.
        """
        item = self._item
        try:
            ended = self._attempt()
        except _AttemptEnd as error:
            ended = error.ended
        except ModelError as error:
            self.model_error = error
            item.forget(ASKED)  # no answer came, so the request may be made again
            failures = int(item.find(_FAILURES) or b"0") + 1
            if failures < MAX_FAILURES_OF_MODEL:
                item.keep(_FAILURES, str(failures).encode())
                item.wait()
                return None
            ended = EndedAttempt(phase=audit.MODEL_PHASE, result=audit.FAILED, reason=error.message)
        except Conflict as error:
            if error.code != "work_lost":
                raise
            return None
        except Interrupted:
            item.forget(ASKED)
            item.wait()
            raise
        except (KeyboardInterrupt, GeneratorExit):
            item.wait()
            raise
        if ended.phase == audit.RATE_PHASE:
            return describe_attempt(self._gap, ended)
        if ended.phase == SUPERSEDED:
            item.finish(asdict(ended), keep_data=True)
            return None
        item.finish(asdict(ended), self._event(ended), keep_data=True)
        return describe_attempt(self._gap, ended)._replace(
            outcome=self._outcome,
            requests=self._bill.requests,
            tokens_in=self._bill.tokens_in,
            tokens_out=self._bill.tokens_out,
        )

    def _attempt(self) -> EndedAttempt:
        """Go through the attempt. Raises `_AttemptEnd`, `ModelError`."""
        item = self._item
        is_counted = item.find(_COUNTED) is not None
        if not is_counted and not self._is_current():
            raise _AttemptEnd(SUPERSEDED, "", "")
        if item.starts > MAX_STARTS:
            reason = f"{MAX_STARTS} processes ended during it"
            raise _AttemptEnd(audit.INTERRUPTED_PHASE, audit.FAILED, reason)
        if item.find(_ADMITTED) is None:
            shown = hide_held_out(self._material.held_out, self._gap)
            if shown is None:
                raise _AttemptEnd(audit.MODEL_PHASE, audit.SKIPPED, _HELD_OUT_REASON)
            if not is_counted:
                self._stop_if_proposed()
                self._count()
            self._propose(self._converse(shown))
        return self._remember()

    def _is_current(self) -> bool:
        """Tell whether the goal failed as often as when it was queued, and is still open."""
        current = find_open_gap(self._item.store, self._gap.key)
        return current is not None and current.episode == self._gap.episode

    def _stop_if_proposed(self) -> None:
        """End the attempt while a proposal for the gap waits for a person."""
        items = self._item.store.items(GAPS)
        waiting = find_waiting_proposal(self._gap, items, self._brain.gate.is_proposed)
        if waiting is not None:
            error = _AttemptEnd("", "", "")
            error.ended = replace(waiting, reason=f"{waiting.proposal} waits for a person")
            raise error

    def _count(self) -> None:
        """Count the attempt, or let its item wait until the limit is over; the audit says so once.

        Raises `_AttemptEnd`.
        """
        item = self._item
        limit = item.count(audit.GAP_LIMITS, self._now)
        if limit is None:
            item.keep(_PROPOSED, json.dumps(list_proposed_skills(self._brain)).encode())
            return
        reason = f"the {limit.name} limit is reached"
        end = _AttemptEnd(audit.RATE_PHASE, audit.SKIPPED, reason)

        def leave() -> None:
            if item.find(_LIMITED) is None:
                item.keep(_LIMITED)
                item.store.log(self._event(end.ended))
            item.wait(self._now, limit.end(self._now))

        item.store.atomically(leave)
        raise end

    def _converse(self, shown: OpenGap) -> CheckedDraft:
        """Return a draft that passed. Raises `_AttemptEnd`, `ModelError`."""
        conversation = GapConversation(
            brain=self._brain,
            model=self._model,
            item=self._item,
            proposed=json.loads(self._item.find(_PROPOSED) or b"[]"),
            held_out=self._material.held_out,
        )
        self._conversation = conversation
        refused = list_refused(self._gap, self._item.store.items(GAPS))

        def build() -> bytes:
            return build_gap_message(self._brain, self._material, shown, refused).encode(
                "utf-8", "replace"
            )

        try:  # what is asked stays the same, so that the stored answers are those to it
            draft = conversation.ask_for_draft(self._item.once(_PROMPT, build).decode())
        except LostAnswer as error:
            raise _AttemptEnd(audit.INTERRUPTED_PHASE, audit.FAILED, error.message) from error
        except SandboxError as error:
            raise _AttemptEnd(audit.VALIDATION_PHASE, audit.FAILED, error.message) from error
        if isinstance(draft, CheckedDraft):
            return draft
        if isinstance(draft, RefusedDraft):
            last, attempt = draft.draft, ""
            if last is not None:
                attempt = _keep_refused_draft(self._brain, last, self._message())
            raise _AttemptEnd(
                *(audit.VALIDATION_PHASE, audit.REJECTED, draft.fault),
                name=last.name if last else "",
                attempt=attempt,
            )
        reason = draft.reason or "no skill would help"
        raise _AttemptEnd(audit.MODEL_PHASE, audit.SKIPPED, reason)

    def _propose(self, checked: CheckedDraft) -> None:
        """Propose the program to the gate. Raises `_AttemptEnd` unless it is admitted."""
        from ...models.paid_once import PaidOnce

        draft = checked.draft
        request = build_edit(self._brain, checked.program, draft.program.description)
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
                f"Fill a gap: {self._gap.goal}", GAPS_AGENT, self._model.model_name, calls
            ),
        )
        name = draft.name
        runner = ModelRunner(PaidOnce(self._model, self._item))
        gate = self._gate or self._brain.gate.open(text_runner=runner, confirm=self._item.confirm)
        try:
            outcome = gate.propose(change)
        except (ModelError, Locked, StoreError, Interrupted):  # another attempt goes on
            raise
        except BrainError as error:
            if error.code == "work_lost":
                raise
            raise _AttemptEnd(audit.GATE_PHASE, audit.FAILED, error.message, name=name) from error
        self._outcome = outcome
        if outcome.done == "proposed":
            raise _AttemptEnd(
                *(audit.PROPOSED_PHASE, audit.SKIPPED, outcome.reason or "it waits for a person"),
                name=name,
                proposal=outcome.proposal,
            )
        if outcome.done not in ("admitted", "provisional", "nothing"):
            raise _AttemptEnd(
                *(audit.GATE_PHASE, audit.REJECTED, outcome.reason),
                name=name,
                attempt=outcome.attempt,
            )
        self._item.keep(_ADMITTED, json.dumps([name, self._now]).encode())

    def _remember(self) -> EndedAttempt:
        """Remember the admitted capability, and end with success."""
        name, at = json.loads(self._item.find(_ADMITTED) or b"")
        reason = ""
        try:
            remember_capability(self._brain, self._gap, name, at)
        except BrainError as error:
            reason = f"it is not in the memory: {error.message}"
        return EndedAttempt(
            phase=audit.COMPLETE_PHASE, result=audit.SUCCESS, reason=reason, name=name
        )

    def _message(self) -> str:
        return mask_text(f"Fill a gap: {' '.join(self._gap.goal.split())}")

    def _event(self, ended: EndedAttempt) -> AuditEvent:
        name, reason = ended.name, ended.reason
        return build_gap_event(
            self._gap, self._now, ended.phase, ended.result, name=name, reason=reason
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


def _keep_refused_draft(brain: Brain, draft: ToolDraft, message: str) -> str:
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


def build_meta_record(gap: OpenGap, name: str, at: int) -> str:
    """Return the record as one line of JSON, with the fields of the seed."""
    record = {
        "capability_name": name,
        "gap_score": gap.score.percent / 100,
        "task_context": shorten_without_secrets(fold_to_line(gap.goal), MAX_CONTEXT_BYTES),
        "timestamp": format_time(at),
        "source": META_SOURCE,
        "tags": [*_TAGS, name],
    }
    return json.dumps(record, ensure_ascii=False)


def remember_capability(brain: Brain, gap: OpenGap, name: str, at: int) -> None:
    """Add the record to the memory of a brain; an equal one is not added twice.

    A goal that repeats the input of a held-out case is left out of it.
    Raises `NotFound` (`no_memory`) where there is no place for it, or as `brain.memory.add`.
    """
    if brain.gate.read_held_out_filter().hides(gap.goal):  # a case that was added since
        gap = replace(gap, goal="")
    record = build_meta_record(gap, name, at)
    brain.memory.add(META_TARGET, record, message=f"Remember the capability {name}")
