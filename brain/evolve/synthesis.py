"""Synthesize a skill from a run: ask a model, check the answer, propose the change to the gate.

The answer is untrusted text. Its only effect can be one proposed change of one skill that passed
every check in `answer_check`; the gate decides what becomes of it. After a refused answer the
model may try again; if the last attempt fails, an error is raised and the brain is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ..errors import BrainError, ModelError
from ..receipts import Receipt
from ..receipts.receipt import SYNTHESIS_AGENT, learning_task
from ..results import GateOutcome, Synthesized
from . import synthesis_prompt
from .answer_check import NoSkill, SkillDraft
from .call_receipt import build_call_receipt
from .conversation import CallRecorder, Conversation, ModelCall
from .evolution_mode import require_evolution
from .gate.gate import Gate
from .gate.model_runner import ModelRunner
from .gate.proposed_change import ProposedChange
from .metered_model import Bill, meter
from .related_material import RelatedMaterial
from .tool_conversation import ToolConversation
from .tool_model import has_tools
from .transcript import mask_text, render_transcript
from .triggers import find_trigger

if TYPE_CHECKING:
    from ..repo.open.manifest import SynthesisPolicy
    from .brain_protocol import LearningBrain, LearningTask
    from .model import Model

EVOLVER = "synthesis"
ASKED_TRIGGER = "asked"
HELD_OUT_REASON = "the run is the source of a held-out case, or repeats the input of one"
CREATED, IMPROVED, NOTHING, NOT_HARD = "created", "improved", "nothing", "not_hard"


def synthesize(
    brain: LearningBrain,
    receipt: Receipt,
    model: Model,
    *,
    policy: SynthesisPolicy | None = None,
    anyway: bool = False,
    dry_run: bool = False,
) -> Synthesized:
    """Propose a new or better skill from a finished run, if the run was hard.

    `receipt` has all steps of the run. `policy` defaults to that of the manifest; `anyway`
    counts any run as hard. With `dry_run` nothing is proposed. The snapshot of the change holds
    a receipt with the calls of the model. Raises `Conflict` (`evolution_off`), `ModelError`, or
    what `Gate.propose` raises; the brain is then unchanged. A `ModelError` has what was paid.
    """
    require_evolution(brain)
    trigger = find_trigger(receipt.steps, policy or brain.receipts.read_synthesis_policy())
    if anyway and not trigger:
        trigger = ASKED_TRIGGER
    paid, bill = _meter(brain, model)
    try:
        drafted = draft_skill(brain, receipt, paid, trigger)
        change = None if dry_run else build_change(receipt, paid, drafted)
        outcome = propose_change(brain, change, paid)
    except ModelError as error:
        error.requests, error.tokens_in, error.tokens_out = bill.total
        raise
    return _describe(model.name, drafted, outcome, bill)


def _meter(brain: LearningBrain, model: Model) -> tuple[Model, Bill]:
    """Return a model that is not asked once evolution is off, and what it costs."""
    bill = Bill()
    count = partial(brain.evolution.count_cost, EVOLVER)
    return meter(model, lambda _: require_evolution(brain), bill.add, count), bill


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafted:
    """What a model made of a run: a draft or none, and the calls that it took.

    `trigger` says why the run is hard, "" if it is not.
    """

    trigger: str
    draft: SkillDraft | NoSkill
    calls: Sequence[ModelCall] = ()


def draft_skill(
    brain: LearningBrain,
    receipt: Receipt,
    model: Model,
    trigger: str,
    record_call: CallRecorder | None = None,
) -> Drafted:
    """Ask the model for a draft if there is a trigger. Raises `ModelError`."""
    if not trigger:
        return Drafted(trigger="", draft=NoSkill("the task was not hard"))
    material = RelatedMaterial(brain)
    if material.held_out.hides_run(receipt):
        return Drafted(trigger=trigger, draft=NoSkill(HELD_OUT_REASON))
    calls: list[ModelCall] = []

    def keep_call(call: ModelCall) -> None:
        calls.append(call)
        if record_call is not None:
            record_call(call)

    related = material.list_skills(receipt)
    background = material.read_background(skill.slug for skill in related)
    first = synthesis_prompt.decision_message(render_transcript(receipt), related, background)
    conversation = (
        ToolConversation(model, related, keep_call)
        if has_tools(model)
        else Conversation(model, related, keep_call)
    )
    return Drafted(trigger=trigger, draft=conversation.draft(material, first), calls=calls)


def build_change(receipt: Receipt, model: Model, drafted: Drafted) -> ProposedChange | None:
    """Return the change to propose, with a receipt of the calls; None without a draft."""
    draft = drafted.draft
    if isinstance(draft, NoSkill):
        return None
    return ProposedChange(
        name=draft.name,
        evolver=EVOLVER,
        description=draft.description,
        body=draft.body,
        files=draft.files,
        base=draft.expected_base,
        message=mask_text(draft.reason),
        receipt=build_call_receipt(
            learning_task(receipt),
            SYNTHESIS_AGENT,
            model.name,
            drafted.calls,
        ),
    )


def propose_change(
    brain: LearningBrain,
    change: ProposedChange | None,
    model: Model,
    confirm: Callable[[], None] = lambda: None,
) -> GateOutcome | None:
    """Propose a change to the gate, which asks `model` the cases of a text; None without one.

    `confirm` is called before anything is recorded.
    """
    if change is None:
        return None
    return Gate(brain, text_runner=ModelRunner(model), confirm=confirm).propose(change)


def _describe(model: str, drafted: Drafted, outcome: GateOutcome | None, bill: Bill) -> Synthesized:
    draft, trigger = drafted.draft, drafted.trigger
    if isinstance(draft, SkillDraft):
        decision = IMPROVED if draft.base else CREATED
        slug, description, body = draft.slug, draft.description, draft.body
    else:
        decision, slug, description, body = NOTHING if trigger else NOT_HARD, "", "", ""
    return Synthesized(
        decision=decision,
        trigger=trigger,
        reason=draft.reason,
        slug=slug,
        description=description,
        body=body,
        version=outcome.version if outcome else None,
        previous_version=outcome.previous_version if outcome else None,
        snapshot=(outcome.snapshot or None) if outcome else None,
        model=model,
        requests=bill.requests,
        tokens_in=bill.tokens_in,
        tokens_out=bill.tokens_out,
        commitment=outcome.commitment if outcome else None,
        outcome=outcome,
    )


class Learner:
    """Proposes skills from runs as they end: `brain.task("…", on_success=Learner(brain, model))`.

    The calls of the model become steps of the run itself. A failure does not fail the run: it
    is recorded as a step, and `error` holds it. `result` and `error` are those of the last run.
    """

    def __init__(self, brain: LearningBrain, model: Model) -> None:
        self._brain = brain
        self._model = model
        self.result: Synthesized | None = None
        self.error: BrainError | None = None

    def __call__(self, task: LearningTask) -> None:
        """Learn from a task that is about to end."""
        self.result = self.error = None
        try:
            self.result = self._learn(task)
        except BrainError as error:
            self.error = error
        else:
            task.mark_learned()

    def _learn(self, task: LearningTask) -> Synthesized:
        require_evolution(self._brain)
        receipt = task.build_receipt()
        trigger = find_trigger(receipt.steps, self._brain.receipts.read_synthesis_policy())

        def record_call(call: ModelCall) -> None:
            task.record_model_call(
                self._model.name,
                call.prompt,
                call.answer.text,
                tokens_in=call.answer.tokens_in,
                tokens_out=call.answer.tokens_out,
                error=call.error,
            )

        model, bill = _meter(self._brain, self._model)
        drafted = draft_skill(self._brain, receipt, model, trigger, record_call)
        change = build_change(receipt, model, drafted)
        outcome = propose_change(self._brain, change, model)
        return _describe(model.name, drafted, outcome, bill)
