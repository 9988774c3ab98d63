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


class RequestBound(NamedTuple):
    """The most that a request costs: bytes that are sent, each a token at most, and tokens out."""

    bytes: int
    max_tokens: int


class Paid(NamedTuple):
    """What a request cost: requests that were sent, and the tokens that the endpoint reports.

    `answer_bytes` is the size of the answer, 1 for an empty one. Of `lost` requests an answer may
    have been made, and did not arrive.
    """

    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    answer_bytes: int = 0
    lost: int = 0


Settle = Callable[[Paid, Callable[[], object]], None]
"""Counts what was paid, and calls the function, which keeps the answer, in one transaction."""
Meter = Callable[[RequestBound], Settle]
"""Is called before a request, and raises if it must not be made; what it returns, after it."""


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
            f"{printable_text(model)} gave no answer that can be used: {fault}",
            hint="the brain is unchanged; try again, or with another model",
        )
        self.fault = fault


class Bill:
    """What some work has cost so far, from any thread."""

    def __init__(self) -> None:
        self.requests = self.tokens_in = self.tokens_out = 0
        self._lock = threading.Lock()

    def meter(self, _bound: RequestBound) -> Settle:
        """Count a request, as a `Meter`."""

        def settle(paid: Paid, keep: Callable[[], object]) -> None:
            with self._lock:
                self.requests += paid.requests
                self.tokens_in += paid.tokens_in
                self.tokens_out += paid.tokens_out
            keep()

        return settle

    @property
    def total(self) -> tuple[int, int, int]:
        """Requests, tokens in, and tokens out."""
        return self.requests, self.tokens_in, self.tokens_out
