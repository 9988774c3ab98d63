"""A model that answers from a list."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from brain.errors import ModelError
from brain.models.config import Prices
from brain.models.paid_once import part_text

ScriptedAnswer = str | Mapping[str, Any] | tuple[str, str | Mapping[str, Any]] | ModelError
"""A text, an object to answer as JSON, a tool to call with its arguments, or an error to raise."""


class Said(NamedTuple):
    """One message; `role` is user or assistant."""

    role: str
    text: str


class Asked(NamedTuple):
    """What a scripted model was asked: the system prompt, the messages, and the tools."""

    system: str
    messages: tuple[Said, ...]
    tools: tuple[str, ...]
    max_tokens: int


class FakeModel(Model):
    """A model that answers from a list, in order; `requests` holds what it was asked.

    With `tool_rounds` it may look at skills with tools, in at most so many replies.
    """

    def __init__(
        self, *answers: ScriptedAnswer, name: str = "scripted", tool_rounds: int = 0
    ) -> None:
        super().__init__()
        self._answers: list[ScriptedAnswer] = list(answers)
        self._name = name
        self.tool_rounds = tool_rounds
        self.prices: Prices | None = None
        self.requests: list[Asked] = []

    @property
    def model_name(self) -> str:
        return self._name

    @property
    def system(self) -> str:
        return "scripted"

    def answer(self, asked: Asked) -> ScriptedAnswer:
        """Return the next answer. Raises `ModelError` (`no_answer`) after the last one."""
        if not self._answers:
            raise ModelError("the script of the model has no further answer", code="no_answer")
        return self._answers.pop(0)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        system = "".join(
            part_text(part)
            for message in messages
            for part in message.parts
            if part.part_kind == "system-prompt"
        )
        roles = {"request": "user", "response": "assistant"}
        said = tuple(Said(roles[message.kind], _text_of(message)) for message in messages)
        tools = tuple(tool.name for tool in model_request_parameters.tool_defs.values())
        limit = int((model_settings or {}).get("max_tokens") or 0)
        self.requests.append(Asked(system, said, tools, limit))
        reply = self.answer(self.requests[-1])
        if isinstance(reply, ModelError):
            raise reply
        if isinstance(reply, tuple):
            name, arguments = reply
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            part: TextPart | ToolCallPart = ToolCallPart(name, text, f"call-{len(self.requests)}")
        else:
            text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
            part = TextPart(text)
        chars = len(system) + sum(len(one.text) for one in said)
        usage = RequestUsage(input_tokens=chars // 4, output_tokens=len(text) // 4)
        return ModelResponse(parts=[part], usage=usage)


def _text_of(message: ModelMessage) -> str:
    return "\n".join(part_text(one) for one in message.parts if one.part_kind != "system-prompt")
