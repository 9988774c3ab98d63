"""What a model was asked and what it cost, without an import of pydantic-ai."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import InvalidInput, ModelError, printable_text

MAX_MODEL_ANSWER_BYTES = 1 << 20
"""Size of an answer; a larger one is refused."""
ANSWER_FAULTS = ("answer_cut", "answer_too_large", "bad_answer", "too_long")
"""Codes of a `ModelError` about one request or answer; any other is about the model as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskLimits:
    """Limits on one conversation.

    `answers` are those that are checked, `requests` all of the model, `max_tokens` those of one
    reply; `tokens` in and out together, and `seconds`, are unlimited with None.
    """

    answers: int = 3
    requests: int = 3
    max_tokens: int = 16_000
    tokens: int | None = None
    seconds: float | None = None


class ModelCall(NamedTuple):
    """One request: its last message, the answer, and the error, "" for none."""

    prompt: str
    text: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    error: str = ""


CallRecorder = Callable[[ModelCall], None]


class UnfitAnswer(InvalidInput):
    """An answer that cannot be used. The model may answer `question` again."""

    code = "bad_answer"

    def __init__(self, message: str, question: str = "") -> None:
        super().__init__(message)
        self.question = question


class NoAnswer(ModelError):
    """A model gave no answer that passes; `fault` says what was wrong with the last one."""

    code = "bad_answer"

    def __init__(self, model: str, fault: str) -> None:
        super().__init__(
            f"{printable_text(model)} gave no answer that can become a skill: {fault}",
            hint="the brain is unchanged; try again, or with another model",
        )
        self.fault = fault


class Bill:
    """What some work has cost so far, from any thread."""

    def __init__(self) -> None:
        self.requests = self.tokens_in = self.tokens_out = 0
        self._lock = threading.Lock()

    def add(self, requests: int, tokens_in: int, tokens_out: int) -> None:
        """Count what was paid."""
        with self._lock:
            self.requests += requests
            self.tokens_in += tokens_in
            self.tokens_out += tokens_out

    @property
    def total(self) -> tuple[int, int, int]:
        """Requests, tokens in, and tokens out."""
        return self.requests, self.tokens_in, self.tokens_out
