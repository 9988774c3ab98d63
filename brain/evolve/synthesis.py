"""Synthesize a skill from a run: ask a model, check the answer, upsert it.

What the model says is text from outside. The one thing that can come of it is one upsert
of one skill that passed every check in `answer`; an answer that does not is told to the
model, which may try again, and after that it is an error and the brain is as it was.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import limits
from ..receipts import Receipt, RunStep, keep_text
from ..receipts.size_budget import shorten_without_secrets
from ..results import Synthesized, Upserted
from .answer_check import NoSkill, SkillDraft
from .conversation import CallRecorder, Conversation, ModelCall, first_message, related_skills
from .transcript import mask_text
from .triggers import find_trigger

if TYPE_CHECKING:
    from ..repo.open.manifest import SynthesisPolicy
    from .brain_protocol import LearningBrain
    from .model import Model

SYNTHESIS_AGENT = "brain evolve"
"""Who a synthesis is by, in its receipt."""
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
    """Make a skill of a run that is over, or improve one, if the run was hard.

    `receipt` has all steps of the run. `policy` is that of the manifest if it is not given;
    with `anyway` any run is hard enough. With `dry_run` nothing is recorded. The snapshot
    carries a receipt with the calls of the model. Raises `ModelError`, or as
    `brain.skills.upsert`; then the brain is as it was.
    """
    trigger = find_trigger(receipt.steps, policy or brain.receipts.read_synthesis_policy()) or (
        ASKED_TRIGGER if anyway else ""
    )
    calls: list[ModelCall] = []
    if not trigger:
        return synthesis_result(model, "", NoSkill("the task was not hard"), calls, None)
    draft = draft_skill(brain, receipt, model, calls.append)
    upserted = None
    if isinstance(draft, SkillDraft) and not dry_run:
        upserted = brain.skills.upsert(
            draft.name,
            draft.body,
            description=draft.description,
            base=draft.base or 0,  # none yet: never over one made meanwhile
            receipt=_build_receipt(receipt, model, calls),
            message=draft_message(draft),
        )
    return synthesis_result(model, trigger, draft, calls, upserted)


def draft_skill(
    brain: LearningBrain, receipt: Receipt, model: Model, record_call: CallRecorder
) -> SkillDraft | NoSkill:
    """Return what a model makes of a run; `note` is told each call of it. Raises `ModelError`."""
    known = related_skills(brain, receipt)
    return Conversation(model, known, record_call).draft(brain, first_message(receipt, known))


def draft_message(draft: SkillDraft) -> str:
    """Return the message of the snapshot that a draft becomes."""
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
    return Synthesized(
        decision,
        trigger,
        draft.reason,
        *text,
        upserted.version if upserted else None,
        upserted.previous_version if upserted else None,
        upserted.snapshot if upserted else None,
        model.name,
        len(calls),
        sum(call.answer.tokens_in for call in calls),
        sum(call.answer.tokens_out for call in calls),
        upserted.commitment if upserted else None,
    )


def _build_receipt(receipt: Receipt, model: Model, calls: Sequence[ModelCall]) -> Receipt:
    """Return the receipt of a synthesis by itself, to which the upsert adds its step."""
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
