"""A model that is paid: each request is counted, and each answer kept before it is used.

What a request cost is counted in the transaction that keeps its answer, if something keeps it.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from pydantic_ai import exceptions
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequestPart,
    ModelResponse,
    RetryFeedbackPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from ..digest import blob_id
from ..errors import BrainError, ModelError
from .calls import (
    ANSWER_FAULTS,
    AskLimits,
    CallRecorder,
    Meter,
    ModelCall,
    Paid,
    RequestBound,
    Settle,
)
from .errors import map_error

ANSWER_TOOL = "answer"
_RECORDED_CHARS = 24_000
_DIGEST_CHARS = 32
_PART_TOKENS = 16
"""Tokens, at most, that a template puts around one part of a message."""
_TOOLS_TOKENS = 1_024
"""Tokens, at most, of the words with which a provider announces tools."""
MAX_STORED_BYTES = 5 << 18
"""Size of an answer that is kept, with what the library notes of it."""


class PaidSteps(Protocol):
    """Work whose paid steps are kept, such as an item of the store of experience."""

    def find(self, name: str) -> bytes | None:
        """Return what was kept of a step, None if nothing was."""

    def keep(self, name: str, value: bytes) -> None:
        """Keep a step."""


class PaidModel(WrapperModel):
    """A model whose requests are counted by meters, recorded, and kept with an item.

    Meters count also what fails; what one raises ends the work, as does a failure of the model.
    With an item, an equal request gets the kept answer, and the second equal one the second. An
    answer that came and cannot be used is kept as a fault, and is not asked for again either.
    """

    def __init__(
        self,
        wrapped: Model,
        meters: Sequence[Meter] = (),
        item: PaidSteps | None = None,
        record: CallRecorder = lambda call: None,
    ) -> None:
        if isinstance(wrapped, PaidModel) and wrapped.item is None:
            # Its meters count in the transaction that keeps the answer here.
            meters, wrapped = (*meters, *wrapped.meters), wrapped.wrapped
        super().__init__(wrapped)
        self.meters: Sequence[Meter] = meters
        self.item: PaidSteps | None = item
        self._record = record
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    def prepare_messages(
        self,
        messages: list[ModelMessage],
        model_request_parameters: ModelRequestParameters | None = None,
    ) -> list[ModelMessage]:
        """Return the messages as the model gets them."""
        plain = [_with_plain_texts(message) for message in messages]
        return self.wrapped.prepare_messages(plain, model_request_parameters)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Return the response, the kept one if there is one.

        Raises `ModelError`, the same again for an answer that cannot be used, and as a meter.
        """
        prompt = "\n".join(
            part_text(part) for part in messages[-1].parts if part.part_kind != "system-prompt"
        )
        step = self._name_step(messages, model_settings)
        try:
            kept = self.item.find(step) if self.item is not None else None
            if kept is None:
                response = await self._buy(step, messages, model_settings, model_request_parameters)
            else:
                response = _load(kept)
        except ModelError as error:
            self._record(ModelCall(prompt, error=error.message))
            raise
        usage = response.usage
        text = "\n".join(filter(None, map(_said_text, response.parts)))[:_RECORDED_CHARS]
        self._record(ModelCall(prompt, text, usage.input_tokens, usage.output_tokens))
        return response

    async def _buy(
        self,
        step: str,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        asked = messages, model_settings, model_request_parameters
        bound = self._bound(*asked)
        settles: list[Settle] = []
        try:
            for meter in self.meters:
                settles.insert(0, meter(bound))
            answer = await self._ask(*asked)
        except BrainError:  # a meter refused
            for settle in settles:
                settle(Paid(), _keep_nothing)
            raise
        is_answer = isinstance(answer, ModelResponse) or answer.code in ANSWER_FAULTS
        kept = _dump(answer) if self.item is not None and is_answer else None
        keep: Callable[[], object] = _keep_nothing
        if self.item is not None and kept is not None:
            keep = partial(self.item.keep, step, kept)
        for settle in settles:
            keep = partial(settle, _paid(answer), keep)
        keep()
        if kept is not None:
            return _load(kept)
        if isinstance(answer, ModelError):
            raise answer
        return answer

    async def _ask(self, *asked: Any) -> ModelResponse | ModelError:
        try:
            return await self.wrapped.request(*asked)
        except ModelError as error:
            return error
        except exceptions.AgentRunError as error:  # of a model of the library itself
            return map_error(self.model_name, "", error)

    def _bound(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> RequestBound:
        size = sum(
            _size(part_text(part)) + _PART_TOKENS for message in messages for part in message.parts
        )
        tools = model_request_parameters.tool_defs.values()
        size += _TOOLS_TOKENS * bool(tools) + sum(
            _size(f"{tool.name}{tool.description}{json.dumps(tool.parameters_json_schema)}")
            + _PART_TOKENS
            for tool in tools
        )
        asked = int((model_settings or {}).get("max_tokens") or AskLimits().max_tokens)
        return RequestBound(size, min(asked, getattr(self.wrapped, "max_tokens", asked)))

    def _name_step(self, messages: list[ModelMessage], model_settings: ModelSettings | None) -> str:
        """Return the digest of what is asked, and how often it was asked before."""
        said = [
            [part.part_kind, getattr(part, "tool_name", ""), part_text(part)]
            for message in messages
            for part in message.parts
        ]
        asked = json.dumps([self.model_name, said, dict(model_settings or {})], default=str)
        digest = blob_id(asked.encode("utf-8", "replace")).hex()[:_DIGEST_CHARS]
        with self._lock:
            self._asked[digest] += 1
            return f"{digest}-{self._asked[digest]}"


def is_answer(kept: bytes) -> bool:
    """Tell whether bytes are an answer that `PaidModel` kept."""
    with suppress(ValueError):
        (message,) = ModelMessagesTypeAdapter.validate_json(kept)
        return isinstance(message, ModelResponse)
    return False


def _dump(answer: ModelResponse | ModelError) -> bytes:
    if isinstance(answer, ModelError):
        kept = _dump_fault(answer.code, answer.message, answer.hint)
    else:
        try:
            kept = ModelMessagesTypeAdapter.dump_json([answer])
        except ValueError:  # half a character, which no text in UTF-8 can hold
            text = "".join(map(part_text, answer.parts)).encode("utf-8", "replace").decode()
            kept = ModelMessagesTypeAdapter.dump_json([replace(answer, parts=[TextPart(text)])])
    if len(kept) <= MAX_STORED_BYTES:
        return kept
    problem = f"the answer has more than the {MAX_STORED_BYTES} bytes that are kept"
    return _dump_fault("answer_too_large", problem, "ask for less, or use another model")


def _dump_fault(*fault: str) -> bytes:
    return json.dumps({"fault": fault}).encode()


def _load(kept: bytes) -> ModelResponse:
    if kept.startswith(b"{"):
        code, message, hint = json.loads(kept)["fault"]
        raise ModelError(message, code=code, hint=hint)
    (response,) = ModelMessagesTypeAdapter.validate_json(kept)
    assert isinstance(response, ModelResponse)
    return response


def _keep_nothing() -> None:
    pass


def _paid(answer: ModelResponse | ModelError) -> Paid:
    if isinstance(answer, ModelError):
        return Paid(answer.requests, answer.tokens_in, answer.tokens_out, 0, answer.lost)
    usage, sent = answer.usage, answer.metadata or {}
    size = sum(_size(part_text(part)) for part in answer.parts)
    counted = max(usage.input_tokens, 0), max(usage.output_tokens, 0)
    return Paid(sent.get("requests", 1), *counted, max(size, 1), sent.get("lost", 0))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _with_plain_texts(message: ModelMessage) -> ModelMessage:
    """Return a message whose refusals are text as it is.

    The library makes strings in JSON of them, in which quoted lines are lines no more, or frames
    that it announces as having authority.
    """
    if isinstance(message, ModelResponse):
        return message
    parts: list[ModelRequestPart] = []
    for part in message.parts:
        if isinstance(part, ToolReturnPart):
            parts.append(replace(part, outcome="success"))
        elif isinstance(part, RetryFeedbackPart):
            parts.append(UserPromptPart(str(part.content)))
        else:
            parts.append(part)
    return replace(message, parts=parts)


def part_text(part: Any) -> str:
    """Return the text of a part of a message, as the model gets or gave it."""
    if isinstance(part, ToolCallPart):
        return part.args_as_json_str()
    if isinstance(part, ToolReturnPart):
        return part.model_response_str()
    return str(getattr(part, "content", ""))


def _said_text(part: Any) -> str:
    if isinstance(part, ToolCallPart) and part.tool_name != ANSWER_TOOL:
        return f"{part.tool_name}({part_text(part)})"
    return part_text(part) if isinstance(part, TextPart | ToolCallPart) else ""
