"""Models that count what is paid, and that keep each answer before it is used.

What a request cost is counted in the transaction that keeps its answer, if something keeps it.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Protocol

from pydantic_ai import exceptions
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from ..digest import blob_id
from ..errors import BrainError, ModelError
from .ask import part_text
from .calls import ANSWER_FAULTS, AskLimits, Meter, Paid, RequestBound
from .errors import map_error

_DIGEST_CHARS = 32
_PART_TOKENS = 16
"""Tokens, at most, that a template puts around one part of a message."""
_TOOLS_TOKENS = 1_024
"""Tokens, at most, of the words with which a provider announces tools."""
MAX_STORED_BYTES = 5 << 18
"""Size of an answer that is kept, with what the library notes of it."""


class MeteredModel(WrapperModel):
    """A model whose requests a meter counts, also those that fail; what it raises ends the work."""

    def __init__(self, wrapped: Model, meter: Meter) -> None:
        super().__init__(wrapped)
        self._meter = meter

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Return the response. Raises `ModelError`, and what the meter raises."""
        answer, settle = await self.buy(messages, model_settings, model_request_parameters)
        settle(_keep_nothing)
        if isinstance(answer, ModelError):
            raise answer
        return answer

    async def buy(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> _Bought:
        """Return the response, or the error, and what counts it."""
        asked = messages, model_settings, model_request_parameters
        settle = self._meter(self._bound(*asked))
        try:
            answer, settle_inner = await _buy(self.wrapped, *asked)
        except BrainError:  # a meter further in refused
            settle(Paid(), _keep_nothing)
            raise
        paid = _paid(answer)
        return answer, lambda keep: settle(paid, lambda: settle_inner(keep))

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


_Bought = tuple[ModelResponse | ModelError, Callable[[Callable[[], object]], None]]


async def _buy(
    model: Model,
    messages: list[ModelMessage],
    model_settings: ModelSettings | None,
    model_request_parameters: ModelRequestParameters,
) -> _Bought:
    asked = messages, model_settings, model_request_parameters
    if isinstance(model, MeteredModel):
        return await model.buy(*asked)
    answer: ModelResponse | ModelError
    try:
        answer = await model.request(*asked)
    except ModelError as error:
        answer = error
    except exceptions.AgentRunError as error:  # of a model of the library itself
        answer = map_error(model.model_name, "", error)
    return answer, _call


def _paid(answer: ModelResponse | ModelError) -> Paid:
    if isinstance(answer, ModelError):
        return Paid(answer.requests, answer.tokens_in, answer.tokens_out, 0, answer.lost)
    usage, sent = answer.usage, answer.metadata or {}
    size = sum(_size(part_text(part)) for part in answer.parts)
    counted = max(usage.input_tokens, 0), max(usage.output_tokens, 0)
    return Paid(sent.get("requests", 1), *counted, max(size, 1), sent.get("lost", 0))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _call(keep: Callable[[], object]) -> None:
    keep()


def _keep_nothing() -> None:
    pass


class PaidSteps(Protocol):
    """Work whose paid steps are kept, such as an item of the store of experience."""

    def find(self, name: str) -> bytes | None:
        """Return what was kept of a step, None if nothing was."""

    def keep(self, name: str, value: bytes) -> None:
        """Keep a step."""


class PaidOnce(WrapperModel):
    """A model whose answers are kept with an item, so that none is paid for twice.

    An equal request gets the kept answer, and the second equal one the second. An answer that
    came and cannot be used is kept as a fault, and is not asked for again either.
    """

    def __init__(self, wrapped: Model, item: PaidSteps) -> None:
        super().__init__(wrapped)
        self._item = item
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Return the response, the kept one if there is one.

        Raises `ModelError`, the same again for an answer that cannot be used.
        """
        step = self._name_step(messages, model_settings)
        kept = self._item.find(step)
        if kept is None:
            answer, settle = await _buy(
                self.wrapped, messages, model_settings, model_request_parameters
            )
            if isinstance(answer, ModelError) and answer.code not in ANSWER_FAULTS:
                settle(_keep_nothing)
                raise answer
            if isinstance(answer, ModelError):
                kept = _dump_fault(answer.code, answer.message, answer.hint)
            else:
                kept = _dump(answer)
            if len(kept) > MAX_STORED_BYTES:
                problem = f"the answer has more than the {MAX_STORED_BYTES} bytes that are kept"
                hint = "ask for less, or use another model"
                kept = _dump_fault("answer_too_large", problem, hint)
            settle(partial(self._item.keep, step, kept))
        if kept.startswith(b"{"):
            code, message, hint = json.loads(kept)["fault"]
            raise ModelError(message, code=code, hint=hint)
        (response,) = ModelMessagesTypeAdapter.validate_json(kept)
        assert isinstance(response, ModelResponse)
        return response

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
    """Tell whether bytes are an answer that `PaidOnce` kept."""
    with suppress(ValueError):
        (message,) = ModelMessagesTypeAdapter.validate_json(kept)
        return isinstance(message, ModelResponse)
    return False


def _dump_fault(*fault: str) -> bytes:
    return json.dumps({"fault": fault}).encode()


def _dump(answer: ModelResponse) -> bytes:
    try:
        return ModelMessagesTypeAdapter.dump_json([answer])
    except ValueError:  # half a character, which no text in UTF-8 can hold
        text = "".join(map(part_text, answer.parts)).encode("utf-8", "replace").decode()
        return ModelMessagesTypeAdapter.dump_json([replace(answer, parts=[TextPart(text)])])
