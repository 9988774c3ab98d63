"""The interface of a model: one answer to a conversation, in a given schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

MAX_MODEL_ANSWER_BYTES = 1 << 20
"""Size of an answer; a larger one is refused."""


ANSWER_FAULTS = ("answer_cut", "answer_too_large", "bad_answer", "too_long")
"""Codes of a `ModelError` about one request or answer; any other is about the model as a whole."""


class ChatMessage(NamedTuple):
    """One message; `role` is user or assistant."""

    role: str
    text: str


class AnswerRequest(NamedTuple):
    """A conversation, and the JSON schema of the answer.

    `system` is the system prompt. `max_tokens` limits the answer.
    """

    system: str
    messages: tuple[ChatMessage, ...]
    schema: Mapping[str, Any]
    max_tokens: int


class ModelAnswer(NamedTuple):
    """The answer of a model, JSON if it followed the schema, and what it cost.

    `requests` counts also those that failed before it came.
    """

    text: str
    tokens_in: int = 0
    tokens_out: int = 0
    requests: int = 1


class Model(Protocol):
    """A language model. Its answers are untrusted text."""

    @property
    def name(self) -> str:
        """The name that goes into receipts, such as anthropic:claude-haiku-4-5."""

    def answer(self, request: AnswerRequest) -> ModelAnswer:
        """Return the answer, in bounded time and size. Raises `ModelError`."""
