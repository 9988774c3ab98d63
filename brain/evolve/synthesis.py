"""Synthesize a skill from a run: ask a model, check the answer, propose the change to the gate.

The answer is untrusted text. Its only effect can be one proposed change of one skill that passed
every check in `drafts`; the gate decides what becomes of it. After a refused answer the
model may try again; if the last attempt fails, an error is raised and the brain is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import BrainError, ModelError
from ..models.calls import AskLimits, Bill, ModelCall
from ..receipts import Receipt
from ..receipts.receipt import SYNTHESIS_AGENT, learning_task
from ..repo.learning.change import ProposedChange
from ..repo.receipts.triggers import find_trigger
from ..results import GateOutcome, Synthesized
from .evolution_mode import meter, require_evolution
from .evolver import ModelRunner, build_call_receipt
from .material import RelatedMaterial, ShownSkills
from .prompts import SYSTEM_PROMPT, TOOLS_PROMPT, decision_message
from .tools import SKILL_FILE, DraftTools
from .transcript import mask_text, render_transcript

if TYPE_CHECKING:
    from ..api.brain import Brain
    from ..api.task import Task
    from ..models import Model
    from ..models.calls import CallRecorder
    from ..repo.open.manifest import SynthesisPolicy
    from .drafts import NoSkill, SkillAnswer, SkillDraft

EVOLVER = "synthesis"
ASKED_TRIGGER = "asked"
HELD_OUT_REASON = "the run is the source of a held-out case, or repeats the input of one"
MAX_TOKENS = 200_000
"""Tokens in and out of one conversation with tools."""
MAX_SECONDS = 600.0
CREATED, IMPROVED, NOTHING, NOT_HARD = "created", "improved", "nothing", "not_hard"


def synthesize(
    brain: Brain,
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
    bill = Bill()
    paid = meter(brain, model, EVOLVER, bill.add)
    try:
        drafted = draft_skill(brain, receipt, paid, trigger)
        change = None if dry_run else build_change(receipt, paid, drafted)
        outcome = propose_change(brain, change, paid)
    except ModelError as error:
        error.requests, error.tokens_in, error.tokens_out = bill.total
        raise
    return _describe(model.model_name, drafted, outcome, bill)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafted:
    """What a model made of a run: a draft or none, and the calls that it took.

    `trigger` says why the run is hard, "" if it is not.
    """

    trigger: str
    draft: SkillDraft | NoSkill
    calls: Sequence[ModelCall] = ()


def draft_skill(
    brain: Brain,
    receipt: Receipt,
    model: Model,
    trigger: str,
    record_call: CallRecorder | None = None,
) -> Drafted:
    """Ask the model for a draft if there is a trigger. Raises `ModelError`."""
    from ..models.ask import ask
    from .drafts import NoSkill, SkillAnswer, check_skill_answer

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
    shown = ShownSkills(material, related)
    tools = DraftTools(material, shown.skills)

    def check(answer: SkillAnswer) -> SkillDraft | NoSkill:
        answer.body = answer.body or tools.files.get(SKILL_FILE, "")
        draft = check_skill_answer(answer, shown.skills)
        if not isinstance(draft, NoSkill):
            draft = tools.add_to(draft)
            shown.require_seen(draft)
        return draft

    rounds = getattr(model, "tool_rounds", 0)
    limits = AskLimits(requests=rounds, tokens=MAX_TOKENS, seconds=MAX_SECONDS)
    draft = ask(
        model,
        SkillAnswer,
        check,
        system=SYSTEM_PROMPT + TOOLS_PROMPT if rounds else SYSTEM_PROMPT,
        prompt=decision_message(render_transcript(receipt), related, background),
        hide=material.held_out.hide_in,
        tools=tools.list_all() if rounds else (),
        record=keep_call,
        limits=limits if rounds else AskLimits(),
    )
    return Drafted(trigger=trigger, draft=draft, calls=calls)


def build_change(receipt: Receipt, model: Model, drafted: Drafted) -> ProposedChange | None:
    """Return the change to propose, with a receipt of the calls; None without a draft."""
    from .drafts import NoSkill

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
            model.model_name,
            drafted.calls,
        ),
    )


def propose_change(
    brain: Brain,
    change: ProposedChange | None,
    model: Model,
    confirm: Callable[[], None] = lambda: None,
) -> GateOutcome | None:
    """Propose a change to the gate, which asks `model` the cases of a text; None without one.

    `confirm` is called before anything is recorded.
    """
    if change is None:
        return None
    return brain.gate.open(text_runner=ModelRunner(model), confirm=confirm).propose(change)


def _describe(model: str, drafted: Drafted, outcome: GateOutcome | None, bill: Bill) -> Synthesized:
    from .drafts import SkillDraft

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

    def __init__(self, brain: Brain, model: Model) -> None:
        self._brain = brain
        self._model = model
        self.result: Synthesized | None = None
        self.error: BrainError | None = None

    def __call__(self, task: Task) -> None:
        """Learn from a task that is about to end."""
        self.result = self.error = None
        try:
            self.result = self._learn(task)
        except BrainError as error:
            self.error = error
        else:
            task.mark_learned()

    def _learn(self, task: Task) -> Synthesized:
        require_evolution(self._brain)
        receipt = task.build_receipt()
        trigger = find_trigger(receipt.steps, self._brain.receipts.read_synthesis_policy())

        def record_call(call: ModelCall) -> None:
            task.record_model_call(
                self._model.model_name,
                call.prompt,
                call.text,
                tokens_in=call.tokens_in,
                tokens_out=call.tokens_out,
                error=call.error,
            )

        bill = Bill()
        model = meter(self._brain, self._model, EVOLVER, bill.add)
        drafted = draft_skill(self._brain, receipt, model, trigger, record_call)
        change = build_change(receipt, model, drafted)
        outcome = propose_change(self._brain, change, model)
        return _describe(model.model_name, drafted, outcome, bill)
