"""Synthesize a skill from a run: ask a model, check the answer, upsert the skill.

The answer is untrusted text. Its only effect can be one upsert of one skill that passed
every check in `answer_check`. After a refused answer the model may try again; if the last
attempt fails, an error is raised and the brain is unchanged.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .. import limits
from ..errors import BrainError
from ..receipts import Receipt, RunStep, keep_text
from ..receipts.size_budget import shorten_without_secrets
from ..results import Synthesized, Upserted
from . import synthesis_prompt
from .answer_check import NoSkill, SkillDraft
from .conversation import CallRecorder, Conversation, ModelCall, related_skills
from .transcript import mask_text, render_transcript
from .triggers import find_trigger

if TYPE_CHECKING:
    from ..repo.open.manifest import SynthesisPolicy
    from .brain_protocol import LearningBrain, LearningTask
    from .model import Model

SYNTHESIS_AGENT = "brain evolve"
"""The agent in the receipt of a synthesis."""
ASKED_TRIGGER = "asked"
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
    """Create or improve a skill from a finished run, if the run was hard.

    `receipt` has all steps of the run. `policy` defaults to that of the manifest; `anyway`
    counts any run as hard. With `dry_run` nothing is recorded. The snapshot holds a receipt
    with the calls of the model. Raises `ModelError`, or what `brain.skills.upsert` raises;
    the brain is then unchanged.
    """

    def upsert(draft: SkillDraft, calls: Sequence[ModelCall]) -> Upserted | None:
        if dry_run:
            return None
        return brain.skills.upsert(
            draft.name,
            draft.body,
            description=draft.description,
            base=draft.expected_base,
            receipt=_build_receipt(receipt, model, calls),
            message=mask_text(draft.reason),
        )

    trigger = find_trigger(receipt.steps, policy or brain.receipts.read_synthesis_policy())
    if anyway and not trigger:
        trigger = ASKED_TRIGGER
    return _synthesize(brain, receipt, model, trigger, upsert)


def _synthesize(
    brain: LearningBrain,
    receipt: Receipt,
    model: Model,
    trigger: str,
    upsert: Callable[[SkillDraft, Sequence[ModelCall]], Upserted | None],
    record_call: CallRecorder | None = None,
) -> Synthesized:
    """Ask the model for a draft if there is a trigger, and upsert it."""
    calls: list[ModelCall] = []

    def keep_call(call: ModelCall) -> None:
        calls.append(call)
        if record_call is not None:
            record_call(call)

    draft: SkillDraft | NoSkill = NoSkill("the task was not hard")
    upserted = None
    if trigger:
        related = related_skills(brain, receipt)
        first = synthesis_prompt.decision_message(render_transcript(receipt), related)
        draft = Conversation(model, related, keep_call).draft(brain, first)
    if isinstance(draft, SkillDraft):
        decision = IMPROVED if draft.base else CREATED
        slug, description, body = draft.slug, draft.description, draft.body
        upserted = upsert(draft, calls)
    else:
        decision, slug, description, body = NOTHING if trigger else NOT_HARD, "", "", ""
    return Synthesized(
        decision=decision,
        trigger=trigger,
        reason=draft.reason,
        slug=slug,
        description=description,
        body=body,
        version=upserted.version if upserted else None,
        previous_version=upserted.previous_version if upserted else None,
        snapshot=upserted.snapshot if upserted else None,
        model=model.name,
        requests=len(calls),
        tokens_in=sum(call.answer.tokens_in for call in calls),
        tokens_out=sum(call.answer.tokens_out for call in calls),
        commitment=upserted.commitment if upserted else None,
    )


class Learner:
    """Makes skills of runs as they end: `brain.task("…", on_success=Learner(brain, model))`.

    The calls of the model and the skill become steps of the run itself. A failure does not
    fail the run: it is recorded as a step, and `error` holds it. `result` and `error` are
    those of the last run.
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

    def _learn(self, task: LearningTask) -> Synthesized:
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

        def upsert(draft: SkillDraft, _calls: Sequence[ModelCall]) -> Upserted:
            return task.upsert_skill(
                draft.name,
                draft.body,
                description=draft.description,
                base=draft.expected_base,
                message=mask_text(draft.reason),
            )

        return _synthesize(self._brain, receipt, self._model, trigger, upsert, record_call)


def _build_receipt(receipt: Receipt, model: Model, calls: Sequence[ModelCall]) -> Receipt:
    """Return the receipt of a synthesis; the upsert adds its own step."""
    now = time.time_ns() // 1_000_000
    steps = tuple(
        RunStep(
            "llm",
            now,
            shorten_without_secrets(model.name, limits.MAX_STEP_NAME_BYTES),
            input=keep_text(call.prompt),
            output=keep_text(call.answer.text),
            tokens_in=call.answer.tokens_in,
            tokens_out=call.answer.tokens_out,
        )
        for call in calls
    )
    return Receipt(
        run=secrets.token_hex(16),
        task=shorten_without_secrets(
            f"Learn from run {receipt.run}: {receipt.task}", limits.MAX_TASK_BYTES
        ),
        agent=SYNTHESIS_AGENT,
        model=shorten_without_secrets(model.name, limits.MAX_STEP_NAME_BYTES),
        started=now,
        ended=now,
        steps=steps,
        outcome="success",
    )
