"""Synthesize a skill from a run: ask a model, check the answer, propose the change to the gate.

The answer is untrusted text. Its only effect can be one proposed change of one skill that passed
every check in `drafts`; the gate decides what becomes of it. After a refused answer the
model may try again; if the last attempt fails, an error is raised and the brain is unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import BrainError, ModelError
from ..models.calls import AskLimits, ModelCall
from ..receipts import Receipt
from ..receipts.receipt import SYNTHESIS_AGENT, learning_task
from ..repo.learning.change import ProposedChange
from ..repo.receipts.runs import find_trigger
from ..results import Synthesized
from ..util.checked_calls import check_calls
from .budget import meter, require_evolution
from .evolver import Drafting
from .material import ShownSkills, SkillTools
from .prompts import SYSTEM_PROMPT, TOOLS_PROMPT, decision_message, mask_text, render_transcript

if TYPE_CHECKING:
    from ..api.brain import Brain
    from ..api.task import Task
    from ..models import Model
    from ..repo.manifest import SynthesisPolicy
    from .drafts import NoSkill, SkillAnswer, SkillDraft

EVOLVER = "synthesis"
ASKED_TRIGGER = "asked"
HELD_OUT_REASON = "the run is the source of a held-out case, or repeats the input of one"
MAX_TOKENS = 200_000
"""Tokens in and out of one conversation with tools."""
MAX_SECONDS = 600.0
CREATED, IMPROVED, NOTHING, NOT_HARD = "created", "improved", "nothing", "not_hard"


class SkillDrafting(Drafting):
    """Drafts a skill from a run."""

    agent = SYNTHESIS_AGENT

    def draft_skill(self, run: Receipt) -> SkillDraft | NoSkill:
        """Ask the model for a draft. Raises `ModelError`."""
        from ..repo.learning.cases import hides_run
        from .drafts import NoSkill, SkillAnswer, check_skill_answer

        material = self.material
        if hides_run(material.held_out, run):
            return NoSkill(HELD_OUT_REASON)
        self.task = learning_task(run)
        related = material.list_skills(run)
        background = material.read_background(skill.slug for skill in related)
        shown = ShownSkills(material, related)

        def check(answer: SkillAnswer) -> SkillDraft | NoSkill:
            draft = check_skill_answer(answer, shown.skills)
            if not isinstance(draft, NoSkill):
                shown.require_seen(draft)
            return draft

        rounds = getattr(self._model, "tool_rounds", 0)
        limits = AskLimits(requests=rounds, tokens=MAX_TOKENS, seconds=MAX_SECONDS)
        return self.ask(
            SkillAnswer,
            check,
            system=SYSTEM_PROMPT + TOOLS_PROMPT if rounds else SYSTEM_PROMPT,
            prompt=decision_message(render_transcript(run), related, background),
            tools=SkillTools(material, shown.skills).list_all() if rounds else (),
            limits=limits if rounds else AskLimits(),
        )

    def build_change(self, draft: SkillDraft) -> ProposedChange:
        """Return the change to propose, with the receipt of the calls."""
        return self.add_receipt(
            ProposedChange(
                name=draft.name,
                evolver=EVOLVER,
                description=draft.description,
                body=draft.body,
                base=draft.base or 0,  # which fails if a new one exists meanwhile
                message=mask_text(draft.reason),
            )
        )

    def learn(self, run: Receipt, trigger: str, *, dry_run: bool = False) -> Synthesized:
        """Draft a skill if there is a trigger, and propose it. Raises as `synthesize`."""
        from .drafts import NoSkill, SkillDraft

        draft = self.draft_skill(run) if trigger else NoSkill("the task was not hard")
        decision, outcome = NOTHING if trigger else NOT_HARD, None
        if isinstance(draft, SkillDraft):
            decision = IMPROVED if draft.base else CREATED
            outcome = None if dry_run else self.propose(self.build_change(draft))
        return Synthesized(
            decision=decision,
            trigger=trigger,
            reason=draft.reason,
            slug=draft.slug,
            description=getattr(draft, "description", ""),
            body=getattr(draft, "body", ""),
            version=outcome.version if outcome else None,
            previous_version=outcome.previous_version if outcome else None,
            snapshot=(outcome.snapshot or None) if outcome else None,
            model=self._model.model_name,
            requests=self.bill.requests,
            tokens_in=self.bill.tokens_in,
            tokens_out=self.bill.tokens_out,
            commitment=outcome.commitment if outcome else None,
            outcome=outcome,
        )


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
    drafting = SkillDrafting(brain, meter(brain, model, EVOLVER))
    try:
        return drafting.learn(receipt, trigger, dry_run=dry_run)
    except ModelError as error:
        error.requests, error.tokens_in, error.tokens_out = drafting.bill.total
        raise


@check_calls
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

        model = meter(self._brain, self._model, EVOLVER)
        return SkillDrafting(self._brain, model, record=record_call).learn(receipt, trigger)
