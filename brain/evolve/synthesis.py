"""A skill from the transcript of a run: asked of a model, checked, and upserted.

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
from ..receipts import Receipt, Step, of_text
from ..receipts.excerpt import shortened
from ..results import Synthesized, Upserted
from .answer import Draft, Nothing
from .drafting import Call, Conversation, Noting, opening, related
from .hardness import hard
from .transcript import without_secrets

if TYPE_CHECKING:
    from ..brain import Brain
    from ..manifest import SynthesisPolicy
    from .model import Model

AGENT = "brain evolve"
"""Who a synthesis is by, in its receipt."""
ASKED = "asked"
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
    """Make a skill of a run that is over, or improve one, if the run was hard.

    `receipt` has all steps of the run. `policy` is that of the manifest if it is not given;
    with `anyway` any run is hard enough. With `dry_run` nothing is recorded. The snapshot
    carries a receipt with the calls of the model. Raises `ModelError`, or as
    `Brain.upsert_skill`; then the brain is as it was.
    """
    trigger = hard(receipt.steps, policy or brain.synthesis_policy()) or (ASKED if anyway else "")
    calls: list[Call] = []
    if not trigger:
        return told(model, "", Nothing("the task was not hard"), calls, None)
    found = drafted(brain, receipt, model, calls.append)
    done = None
    if isinstance(found, Draft) and not dry_run:
        done = brain.upsert_skill(
            found.name,
            found.body,
            description=found.description,
            base=found.base or 0,  # none yet: never over one made meanwhile
            receipt=_receipt(receipt, model, calls),
            message=message(found),
        )
    return told(model, trigger, found, calls, done)


def drafted(brain: Brain, receipt: Receipt, model: Model, note: Noting) -> Draft | Nothing:
    """Return what a model makes of a run; `note` is told each call of it. Raises `ModelError`."""
    known = related(brain, receipt)
    return Conversation(model, known, note).draft(brain, opening(receipt, known))


def message(draft: Draft) -> str:
    """Return the message of the snapshot that a draft becomes."""
    return without_secrets(draft.reason)


def told(
    model: Model,
    trigger: str,
    found: Draft | Nothing,
    calls: Sequence[Call],
    done: Upserted | None,
) -> Synthesized:
    """Return the outcome of a synthesis, recorded or not."""
    if isinstance(found, Nothing):
        decision, text = NOTHING if trigger else NOT_HARD, ("", "", "")
    else:
        decision = IMPROVED if found.base else CREATED
        text = found.slug, found.description, found.body
    return Synthesized(
        decision,
        trigger,
        found.reason,
        *text,
        done.version if done else None,
        done.previous_version if done else None,
        done.snapshot if done else None,
        model.name,
        len(calls),
        sum(call.answer.tokens_in for call in calls),
        sum(call.answer.tokens_out for call in calls),
        done.commitment if done else None,
    )


def _receipt(receipt: Receipt, model: Model, calls: Sequence[Call]) -> Receipt:
    """Return the receipt of a synthesis by itself, to which the upsert adds its step."""
    now = time.time_ns() // 1_000_000
    steps = tuple(
        Step(
            "llm",
            now,
            shortened(model.name, limits.MAX_STEP_NAME_BYTES),
            input=of_text(call.asked),
            output=of_text(call.answer.text),
            tokens_in=call.answer.tokens_in,
            tokens_out=call.answer.tokens_out,
        )
        for call in calls
    )
    return Receipt(
        run=secrets.token_hex(16),
        task=shortened(f"Learn from run {receipt.run}: {receipt.task}", limits.MAX_TASK_BYTES),
        agent=AGENT,
        model=shortened(model.name, limits.MAX_STEP_NAME_BYTES),
        started=now,
        ended=now,
        steps=steps,
        outcome="success",
    )
