"""The receipt of what a model was asked, for the snapshot of what came of it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence

from .. import limits
from ..models.calls import ModelCall
from ..receipts import Receipt, RunStep, keep_text
from ..receipts.budget import shorten_without_secrets


def build_call_receipt(task: str, agent: str, model: str, calls: Sequence[ModelCall]) -> Receipt:
    """Return a receipt with the calls of a model; the write that carries it adds its own step."""
    now = time.time_ns() // 1_000_000
    name = shorten_without_secrets(model, limits.MAX_STEP_NAME_BYTES)
    steps = tuple(
        RunStep(
            "llm",
            now,
            name,
            input=keep_text(call.prompt),
            output=keep_text(call.text),
            tokens_in=call.tokens_in,
            tokens_out=call.tokens_out,
        )
        for call in calls
    )
    return Receipt(
        run=secrets.token_hex(16),
        task=shorten_without_secrets(task, limits.MAX_TASK_BYTES),
        agent=agent,
        model=name,
        started=now,
        ended=now,
        steps=steps,
        outcome="success",
    )
