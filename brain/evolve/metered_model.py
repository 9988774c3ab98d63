"""Count what a model costs, at the one place through which every request of a learner goes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from ..errors import ModelError
from .model import AnswerRequest, Model, ModelAnswer
from .tool_model import ToolModel, ToolReply, ToolRequest, has_tools

Pay = Callable[[int, int, int], None]
"""Gets the requests that were made, and the tokens in and out."""
Answer = TypeVar("Answer", ModelAnswer, ToolReply)


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


def meter(model: Model, check: Callable[[int], object], *pays: Pay) -> Model:
    """Return a model that tells each of `pays` what its requests cost, also those that fail.

    `check` gets the characters of a prompt before it is sent; what it raises ends the work.
    """
    if has_tools(model):
        return _MeteredToolModel(model, check, *pays)
    return _MeteredModel(model, check, *pays)


class _MeteredModel:
    def __init__(self, model: Model, check: Callable[[int], object], *pays: Pay) -> None:
        self._model = model
        self._check = check
        self._pays = pays

    @property
    def name(self) -> str:
        return self._model.name

    def answer(self, request: AnswerRequest) -> ModelAnswer:
        self._check(len(request.system) + sum(len(message.text) for message in request.messages))
        return self._count(lambda: self._model.answer(request))

    def _count(self, ask: Callable[[], Answer]) -> Answer:
        try:
            answer = ask()
        except ModelError as error:
            self._pay(error.requests, error.tokens_in, error.tokens_out)
            raise
        self._pay(answer.requests, answer.tokens_in, answer.tokens_out)
        return answer

    def _pay(self, *paid: int) -> None:
        for pay in self._pays:
            pay(*paid)


class _MeteredToolModel(_MeteredModel):
    def __init__(self, model: ToolModel, check: Callable[[int], object], *pays: Pay) -> None:
        super().__init__(model, check, *pays)
        self._tool_model = model

    @property
    def tool_rounds(self) -> int:
        return self._tool_model.tool_rounds

    def respond(self, request: ToolRequest) -> ToolReply:
        self._check(len(request.system) + sum(len(message.text) for message in request.messages))
        return self._count(lambda: self._tool_model.respond(request))
