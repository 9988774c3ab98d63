"""Fake models that answer from a list, for tests and examples."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from ..errors import ModelError
from .model import AnswerRequest, ModelAnswer
from .tool_model import ToolCall, ToolReply, ToolRequest

Scripted = TypeVar("Scripted")
ScriptedAnswer = str | Mapping[str, Any] | ModelError
"""A text, an object to answer as JSON, or an error to raise."""


class FakeModel:
    """A `Model` that answers from a list, in order; `requests` holds the requests it got."""

    def __init__(self, *answers: ScriptedAnswer, name: str = "scripted") -> None:
        self._answers: list[ScriptedAnswer] = list(answers)
        self._name = name
        self.requests: list[AnswerRequest] = []

    @property
    def name(self) -> str:
        """The name that goes into receipts."""
        return self._name

    def answer(self, request: AnswerRequest) -> ModelAnswer:
        """Return the next answer. Raises `ModelError` (`no_answer`) after the last one."""
        self.requests.append(request)
        scripted = _next_of(self._answers)
        assert not isinstance(scripted, ModelError)
        text = scripted if isinstance(scripted, str) else json.dumps(scripted, ensure_ascii=False)
        input_chars = len(request.system) + sum(len(message.text) for message in request.messages)
        return ModelAnswer(text, input_chars // 4, len(text) // 4)


ScriptedReply = str | tuple[str, Mapping[str, Any]] | ModelError
"""A text, a tool to call with its arguments, or an error to raise."""


class FakeToolModel(FakeModel):
    """A `ToolModel` that replies from a list, in order; `asked` holds the requests with tools."""

    def __init__(self, *replies: ScriptedReply, name: str = "scripted") -> None:
        super().__init__(name=name)
        self._replies: list[ScriptedReply] = list(replies)
        self.asked: list[ToolRequest] = []

    @property
    def tool_rounds(self) -> int:
        """How many replies one conversation may take."""
        return 12

    def respond(self, request: ToolRequest) -> ToolReply:
        """Return the next reply. Raises `ModelError` (`no_answer`) after the last one."""
        self.asked.append(request)
        scripted = _next_of(self._replies)
        assert not isinstance(scripted, ModelError)
        if isinstance(scripted, str):
            return ToolReply(scripted, (), 10, len(scripted) // 4)
        name, arguments = scripted
        text = json.dumps(arguments, ensure_ascii=False)
        call = ToolCall(f"call-{len(self.asked)}", name, text)
        return ToolReply("", (call,), 10, len(text) // 4)


def _next_of(script: list[Scripted]) -> Scripted:
    """Take the next item of a script; raise it if it is an error."""
    if not script:
        raise ModelError(
            "the script of the test model has no further answer",
            code="no_answer",
            hint="add one to the script",
        )
    scripted = script.pop(0)
    if isinstance(scripted, ModelError):
        raise scripted
    return scripted
