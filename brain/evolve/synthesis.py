"""Synthesize a skill from a run: ask a model, check the answer, upsert the skill.

The answer is untrusted text. Its only effect can be one upsert of one skill that passed
every check in `answer_check`. After a refused answer the model may try again; if the last
attempt fails, an error is raised and the brain is unchanged.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import limits
from ..errors import BrainError
from ..receipts import Receipt, RunStep, keep_text
from ..receipts.size_budget import shorten_without_secrets
from ..results import Synthesized, Upserted
from .answer_check import NoSkill, SkillDraft
from .conversation import CallRecorder, Conversation, ModelCall, first_message, related_skills
from .transcript import mask_text
from .triggers import find_trigger

if TYPE_CHECKING:
    from ..repo.open.manifest import SynthesisPolicy
    from .brain_protocol import LearningBrain, LearningTask
    from .model import Model

SYNTHESIS_AGENT = "brain evolve"
"""The agent in the receipt of a synthesis."""
ASKED_TRIGGER = "asked"
CREATED, IMPROVED, NOTHING, NOT_HARD = "created", "improved", "nothing", "not_hard"
_NOT_HARD_DRAFT = NoSkill("the task was not hard")


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
    trigger = find_trigger(receipt.steps, policy or brain.receipts.read_synthesis_policy()) or (
        ASKED_TRIGGER if anyway else ""
    )
    calls: list[ModelCall] = []
    if not trigger:
        return synthesis_result(model, "", _NOT_HARD_DRAFT, calls, None)
    draft = draft_skill(brain, receipt, model, calls.append)
    upserted = None
    if isinstance(draft, SkillDraft) and not dry_run:
        upserted = brain.skills.upsert(
            draft.name,
            draft.body,
            description=draft.description,
            base=draft.base or 0,  # 0: fail if another writer has created the skill meanwhile
            receipt=_build_receipt(receipt, model, calls),
            message=draft_message(draft),
        )
    return synthesis_result(model, trigger, draft, calls, upserted)


def draft_skill(
    brain: LearningBrain, receipt: Receipt, model: Model, record_call: CallRecorder
) -> SkillDraft | NoSkill:
    """Ask a model for a draft; `record_call` gets each call. Raises `ModelError`."""
    known = related_skills(brain, receipt)
    return Conversation(model, known, record_call).draft(brain, first_message(receipt, known))


def draft_message(draft: SkillDraft) -> str:
    """Return the snapshot message for a draft."""
    return mask_text(draft.reason)


def synthesis_result(
    model: Model,
    trigger: str,
    draft: SkillDraft | NoSkill,
    calls: Sequence[ModelCall],
    upserted: Upserted | None,
) -> Synthesized:
    """Return the outcome of a synthesis, recorded or not."""
    if isinstance(draft, NoSkill):
        decision, text = NOTHING if trigger else NOT_HARD, ("", "", "")
    else:
        decision = IMPROVED if draft.base else CREATED
        text = draft.slug, draft.description, draft.body
    slug, description, body = text
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
        calls: list[ModelCall] = []
        if not trigger:
            return synthesis_result(self._model, "", _NOT_HARD_DRAFT, calls, None)

        def record_call(call: ModelCall) -> None:
            calls.append(call)
            task.record_model_call(
                self._model.name,
                call.prompt,
                call.answer.text,
                tokens_in=call.answer.tokens_in,
                tokens_out=call.answer.tokens_out,
                error=call.error,
            )

        draft = draft_skill(self._brain, receipt, self._model, record_call)
        upserted = None
        if isinstance(draft, SkillDraft):
            upserted = task.upsert_skill(
                draft.name,
                draft.body,
                description=draft.description,
                base=draft.base or 0,  # as in `synthesize`
                message=draft_message(draft),
            )
        return synthesis_result(self._model, trigger, draft, calls, upserted)


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
