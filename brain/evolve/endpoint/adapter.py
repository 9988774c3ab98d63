"""A model behind an endpoint: one conversation, one answer, in bounded time and size."""

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
from ..model import Answer, Request
from ..settings import Settings
from . import failing
from .providers import model_of

LONGEST_WAIT = 60.0
"""Seconds to wait at most before a further attempt; an endpoint that asks for more is given up."""
_FIRST_WAIT = 1.0
T = TypeVar("T")


class Endpoint:
    """A `Model` of settings and a key; `pause` waits between two attempts."""

    def __init__(
        self, settings: Settings, key: str, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._settings = settings
        self._key = key
        self._pause = pause

    @property
    def name(self) -> str:
        """What it is called, PROVIDER:NAME."""
        return self._settings.model

    def answer(self, request: Request) -> Answer:
        """Return the answer. Raises `ModelError`; what may pass is tried again first."""
        for left in range(self._settings.retries, -1, -1):
            try:
                return _finished(self._ask(request))
            except ModelError:
                raise
            except Exception as error:  # noqa: BLE001  whatever the libraries raise, it is told
                problem = failing.told(self.name, self._key, error, self._settings.base_url)
                wait = failing.wait_of(error)
                if wait is None:
                    wait = _FIRST_WAIT * 2 ** (self._settings.retries - left)
                if not left or problem.code not in failing.PASSING or wait > LONGEST_WAIT:
                    raise problem from None
                self._pause(wait)
        raise AssertionError("unreachable")

    async def _ask(self, request: Request) -> Answer:
        limit = min(request.max_tokens, self._settings.max_tokens)
        async with AsyncExitStack() as stack:
            model = await model_of(self._settings, self._key, stack)  # which may import for seconds
            async with asyncio.timeout(self._settings.timeout):
                response = await model.request(
                    _messages(request), ModelSettings(max_tokens=limit), _parameters(request)
                )
        return self._answer(response)

    def _answer(self, response: ModelResponse) -> Answer:
        usage = response.usage
        if response.finish_reason == "length":
            raise ModelError(
                f"{self.name}: the answer is cut off after {usage.output_tokens} tokens",
                code="answer_cut",
                hint="allow more with `brain config model --max-tokens`",
            )
        return Answer(_text(response), usage.input_tokens, usage.output_tokens)


def _text(response: ModelResponse) -> str:
    """Return what was answered: by the tool if it was called, else in plain text."""
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            args = part.args
            return args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def _messages(request: Request) -> list[ModelMessage]:
    out: list[ModelMessage] = [ModelRequest(parts=[SystemPromptPart(request.system)])]
    for message in request.messages:
        if message.role == "assistant":
            out.append(ModelResponse(parts=[TextPart(message.text)]))
        else:
            out.append(ModelRequest(parts=[UserPromptPart(message.text)]))
    return out


def _parameters(request: Request) -> ModelRequestParameters:
    tool = ToolDefinition(
        name="answer",
        description="Give the answer.",
        parameters_json_schema=dict(request.schema),
        kind="output",
    )
    return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=True)


def _finished(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also where a loop of asyncio is running in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001  raised again where it is waited for
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]
