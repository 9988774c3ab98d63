"""The interface of a model: one answer to a conversation, in a given schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object

MAX_MODEL_ANSWER_BYTES = 1 << 20
"""Size of an answer that is looked at."""


class ChatMessage(NamedTuple):
    """One message; `role` is user or assistant."""

    role: str
    text: str


class AnswerRequest(NamedTuple):
    """A conversation, and what the answer must be: JSON that keeps `schema`.

    `system` says who the model is. `max_tokens` bounds the answer.
    """

    system: str
    messages: tuple[ChatMessage, ...]
    schema: Mapping[str, Any]
    max_tokens: int


class ModelAnswer(NamedTuple):
    """What a model said, JSON if it did as it was told, and what it took."""

    text: str
    tokens_in: int = 0
    tokens_out: int = 0


class Model(Protocol):
    """Something that answers. What it says is text from outside, whatever was asked."""

    @property
    def name(self) -> str:
        """What it is called, such as anthropic:claude-haiku-4-5; goes into receipts."""

    def answer(self, request: AnswerRequest) -> ModelAnswer:
        """Return the answer, in bounded time and size. Raises `ModelError`."""
