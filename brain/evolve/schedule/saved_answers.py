"""A model whose answers are kept before they are used, so that none is paid for twice.

A process that is killed leaves the answers so far with its work. The next attempt gets them
again, for equal requests in the same order, and asks the model only for what is missing.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...digest import blob_id
from ...errors import BrainError, ModelError
from ..model import AnswerRequest, Model, ModelAnswer
from ..tool_model import ToolCall, ToolModel, ToolReply, ToolRequest, has_tools

_DIGEST_CHARS = 32


class SavedAnswer(NamedTuple):
    """An answer or a reply of a model; `request` is the digest of what was asked."""

    request: str
    text: str
    calls: list[list[str]]
    tokens_in: int
    tokens_out: int


class SavedAnswers:
    """The answers of one piece of work.

    `keep` stores all of them before one is used, and `check` is called before each request;
    what they raise ends the work. `on_paid` is called with the tokens of each new answer.
    """

    def __init__(
        self,
        earlier: Sequence[SavedAnswer],
        keep: Callable[[list[SavedAnswer]], None],
        check: Callable[[], None],
        on_paid: Callable[[int, int], None],
    ) -> None:
        self._all = list(earlier)
        self._keep = keep
        self._check = check
        self._on_paid = on_paid
        self._lock = threading.Lock()
        self._unused: dict[str, deque[SavedAnswer]] = {}
        for answer in self._all:
            self._unused.setdefault(answer.request, deque()).append(answer)

    def get(self, request: object, ask: Callable[[str], SavedAnswer]) -> SavedAnswer:
        """Return the next kept answer to an equal request, else ask for one and keep it."""
        text = json.dumps(request, sort_keys=True)
        digest = blob_id(text.encode()).hex()[:_DIGEST_CHARS]
        with self._lock:
            waiting = self._unused.get(digest)
            if waiting:
                return waiting.popleft()
        self._check()
        answer = ask(digest)
        with self._lock:
            self._all.append(answer)
            self._keep(self._all)
        self._on_paid(answer.tokens_in, answer.tokens_out)
        return answer


class SavedModel:
    """A `Model` over another one."""

    def __init__(self, model: Model, answers: SavedAnswers) -> None:
        self._model = model
        self._answers = answers

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    def answer(self, request: AnswerRequest) -> ModelAnswer:
        """Return the answer, from an earlier attempt if it has one. Raises `ModelError`."""

        def ask(digest: str) -> SavedAnswer:
            reply = self._model.answer(request)
            return SavedAnswer(digest, reply.text, [], reply.tokens_in, reply.tokens_out)

        kept = self._answers.get([self.name, *request], ask)
        return ModelAnswer(kept.text, kept.tokens_in, kept.tokens_out)


class SavedToolModel(SavedModel):
    """A `ToolModel` over another one."""

    def __init__(self, model: ToolModel, answers: SavedAnswers) -> None:
        super().__init__(model, answers)
        self._tool_model = model

    @property
    def tool_rounds(self) -> int:
        """How many replies one conversation may take."""
        return self._tool_model.tool_rounds

    def respond(self, request: ToolRequest) -> ToolReply:
        """Return the reply, from an earlier attempt if it has one. Raises `ModelError`."""

        def ask(digest: str) -> SavedAnswer:
            reply = self._tool_model.respond(request)
            calls = [list(call) for call in reply.calls]
            return SavedAnswer(digest, reply.text, calls, reply.tokens_in, reply.tokens_out)

        kept = self._answers.get([self.name, *request], ask)
        calls = tuple(ToolCall(*call) for call in kept.calls)
        return ToolReply(kept.text, calls, kept.tokens_in, kept.tokens_out)


def keep_answers(model: Model, answers: SavedAnswers) -> Model:
    """Return a model that keeps its answers, with tools if the model has them."""
    return SavedToolModel(model, answers) if has_tools(model) else SavedModel(model, answers)


class Interrupted(BrainError):
    """An attempt cannot go on now; its answers so far are kept for the next one.

    `cause` is the failure of the model that ended it, None if its time was over or it was asked to
    stop.
    """

    code = "interrupted"

    def __init__(self, message: str, cause: ModelError | None = None) -> None:
        super().__init__(message, hint="the next attempt goes on with the answers so far")
        self.cause = cause
