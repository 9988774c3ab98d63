"""A model behind a network endpoint: one answer in bounded time and size."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from ...errors import ModelError
from ..model import AnswerRequest, ModelAnswer
from ..model_config import ModelConfig
from . import error_mapping
from .providers import open_provider_model

MAX_RETRY_SECONDS = 60.0
"""Longest wait before a further attempt, in seconds; if the endpoint asks for more, it fails."""
_FIRST_RETRY_SECONDS = 1.0
T = TypeVar("T")


class EndpointModel:
    """A `Model` from settings and a key; `sleep` waits between two attempts."""

    def __init__(
        self, settings: ModelConfig, key: str, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._settings = settings
        self._key = key
        self._sleep = sleep

    @property
    def name(self) -> str:
        """The name, PROVIDER:NAME."""
        return self._settings.model

    def answer(self, request: AnswerRequest) -> ModelAnswer:
        """Return the answer. Raises `ModelError`, for transient failures after retries."""
        response, sent = self._request(
            _to_messages(request), _request_parameters(request), request.max_tokens
        )
        usage = response.usage
        return ModelAnswer(_answer_text(response), usage.input_tokens, usage.output_tokens, sent)

    def _request(
        self, messages: list[ModelMessage], parameters: ModelRequestParameters, max_tokens: int
    ) -> tuple[ModelResponse, int]:
        """Return the whole response, and the requests that it took. Raises `ModelError`."""
        sent = 0
        for attempts_left in range(self._settings.retries, -1, -1):
            try:
                response = _run_coroutine(self._ask(messages, parameters, max_tokens))
                sent += 1
                self._refuse_cut(response, sent)
                return response, sent
            except ModelError:
                raise
            except Exception as error:  # noqa: BLE001  the libraries may raise anything
                sent += error_mapping.was_sent(error)
                problem = error_mapping.map_error(
                    self.name, self._key, error, self._settings.base_url
                )
                delay = error_mapping.retry_after(error)
                if delay is None:
                    delay = _FIRST_RETRY_SECONDS * 2 ** (self._settings.retries - attempts_left)
                if (
                    not attempts_left
                    or problem.code not in error_mapping.TRANSIENT_CODES
                    or delay > MAX_RETRY_SECONDS
                ):
                    problem.requests = sent
                    raise problem from None
                self._sleep(delay)
        raise AssertionError("unreachable")

    async def _ask(
        self, messages: list[ModelMessage], parameters: ModelRequestParameters, max_tokens: int
    ) -> ModelResponse:
        limit = min(max_tokens, self._settings.max_tokens)
        async with AsyncExitStack() as stack:
            # Outside the timeout: its imports may take seconds.
            model = await open_provider_model(self._settings, self._key, stack)
            async with asyncio.timeout(self._settings.timeout):
                return await model.request(messages, ModelSettings(max_tokens=limit), parameters)

    def _refuse_cut(self, response: ModelResponse, sent: int) -> None:
        if response.finish_reason == "length":
            usage = response.usage
            error = ModelError(
                f"{self.name}: the answer is cut off after {usage.output_tokens} tokens",
                code="answer_cut",
                hint="allow more with `brain config model --max-tokens`",
            )
            error.requests, error.tokens_in = sent, usage.input_tokens
            error.tokens_out = usage.output_tokens
            raise error


def _answer_text(response: ModelResponse) -> str:
    """Return the arguments of the tool call, or the plain text if there was no call."""
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            args = part.args
            return args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def _to_messages(request: AnswerRequest) -> list[ModelMessage]:
    messages: list[ModelMessage] = [ModelRequest(parts=[SystemPromptPart(request.system)])]
    for message in request.messages:
        if message.role == "assistant":
            messages.append(ModelResponse(parts=[TextPart(message.text)]))
        else:
            messages.append(ModelRequest(parts=[UserPromptPart(message.text)]))
    return messages


def _request_parameters(request: AnswerRequest) -> ModelRequestParameters:
    tool = ToolDefinition(
        name="answer",
        description="Give the answer.",
        parameters_json_schema=dict(request.schema),
        kind="output",
    )
    return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=True)


def _run_coroutine(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, even if an asyncio loop is running in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001  raised again in the calling thread
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
