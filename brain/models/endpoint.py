"""A model behind a network endpoint: one response in bounded time and size."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import httpx2
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from ..errors import ModelError
from .config import ModelConfig
from .errors import TRANSIENT_CODES, ResponseTooLarge, map_error, retry_after

MAX_RETRY_SECONDS = 60.0
"""Longest wait before a further attempt, in seconds; if the endpoint asks for more, it fails."""
_FIRST_RETRY_SECONDS = 1.0
MAX_RESPONSE_BYTES = 8 << 20
"""Size of one HTTP response of an endpoint."""
# Reading the certificates takes longer than asking a model of this machine.
_tls_context = functools.cache(httpx2.create_ssl_context)


class EndpointModel(Model):
    """A model from settings and a key; `sleep` waits between two attempts.

    The library's own model is opened for each attempt, so that no connection outlives its loop.
    `tool_rounds`, `max_tokens` and `prices` are those of the settings.
    """

    def __init__(
        self,
        settings: ModelConfig,
        key: str,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__()
        self._config = settings
        self._key = key
        self._sleep = sleep
        self.tool_rounds = settings.tool_rounds
        self.max_tokens = settings.max_tokens
        self.prices = settings.prices

    @property
    def model_name(self) -> str:
        """The name, PROVIDER:NAME."""
        return self._config.model

    @property
    def system(self) -> str:
        """The provider."""
        return self._config.provider

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Return the response, whose metadata counts the `requests` that it took, and those `lost`.

        Raises `ModelError`, for transient failures after retries.
        """
        config = self._config
        limit = (model_settings or {}).get("max_tokens") or config.max_tokens
        settings = ModelSettings(max_tokens=min(limit, config.max_tokens))
        sent = lost = 0
        for number in range(config.retries + 1):
            try:
                response = await self._attempt(messages, settings, model_request_parameters)
            except Exception as error:  # noqa: BLE001  the libraries may raise anything
                problem = map_error(self.model_name, self._key, error, config.base_url)
                sent, lost = sent + problem.requests, lost + problem.lost
                delay = retry_after(error)
                if delay is None:
                    delay = _FIRST_RETRY_SECONDS * 2**number
                if (
                    number == config.retries
                    or problem.code not in TRANSIENT_CODES
                    or problem.lost  # it may be paid, and a budget was asked for one answer
                    or delay > MAX_RETRY_SECONDS
                ):
                    problem.requests, problem.lost = sent, lost
                    raise problem from None
                await self._sleep(delay)
                continue
            sent += 1
            if response.finish_reason == "length":
                raise self._cut_error(response, sent)
            response.metadata = {"requests": sent, "lost": lost}
            return response
        raise AssertionError("unreachable")

    async def _attempt(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings,
        parameters: ModelRequestParameters,
    ) -> ModelResponse:
        async with AsyncExitStack() as stack:
            # Outside the timeout: its imports may take seconds.
            model = await _open_model(self._config, self._key, stack)
            async with asyncio.timeout(self._config.timeout):
                return await model.request(messages, settings, parameters)

    def _cut_error(self, response: ModelResponse, sent: int) -> ModelError:
        usage = response.usage
        error = ModelError(
            f"{self.model_name}: the answer is cut off after {usage.output_tokens} tokens",
            code="answer_cut",
            hint="allow more with `brain config model.max-tokens NUMBER`",
        )
        error.requests, error.tokens_in = sent, usage.input_tokens
        error.tokens_out = usage.output_tokens
        error.lost = int(not usage.total_tokens)  # the endpoint does not say
        return error


async def _open_model(settings: ModelConfig, key: str, stack: AsyncExitStack) -> Model:
    """Return the model that the settings name; `stack` closes its connections.

    Retries of the client libraries are turned off: `EndpointModel` retries.
    """
    name = settings.model.partition(":")[2]
    if settings.provider == "bedrock":
        return _bedrock_model(name, settings, key)
    options: dict[str, Any] = {
        "base_url": settings.base_url or None,
        "http_client": await stack.enter_async_context(_bounded_client(settings)),
        "max_retries": 0,
        "timeout": settings.timeout,
    }
    if settings.provider == "anthropic":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        anthropic_client = AsyncAnthropic(api_key=key, **options)
        return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=anthropic_client))
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    # Local endpoints mostly need no key, but the library refuses an empty one.
    openai_client = AsyncOpenAI(api_key=key or "none", **options)
    return OpenAIChatModel(name, provider=OpenAIProvider(openai_client=openai_client))


def _bedrock_model(name: str, settings: ModelConfig, key: str) -> Model:
    """Return a model of Bedrock; without a key it uses the credentials of the AWS tools."""
    import boto3
    from botocore.config import Config
    from pydantic_ai.models.bedrock import BedrockConverseModel
    from pydantic_ai.providers.bedrock import BedrockProvider

    url = settings.base_url or None
    if key:
        provider = BedrockProvider(
            api_key=key, base_url=url, aws_read_timeout=settings.timeout, aws_connect_timeout=10
        )
    else:
        bounds = Config(
            read_timeout=settings.timeout, connect_timeout=10, retries={"total_max_attempts": 1}
        )
        bedrock_client = boto3.Session().client("bedrock-runtime", config=bounds, endpoint_url=url)
        provider = BedrockProvider(bedrock_client=bedrock_client)
    return BedrockConverseModel(name, provider=provider)


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MAX_RESPONSE_BYTES:
                raise ResponseTooLarge(f"more than {MAX_RESPONSE_BYTES} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound_response(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ResponseTooLarge("it is compressed, which was not asked for")
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _BoundedStream(response.stream)


def _bounded_client(settings: ModelConfig) -> httpx2.AsyncClient:
    """Return a client that follows no redirects, which could leak the key.

    A local endpoint is asked directly, without the proxies of the environment.
    """
    return httpx2.AsyncClient(
        timeout=settings.timeout,
        trust_env=not settings.is_local,
        verify=_tls_context(trust_env=not settings.is_local),
        follow_redirects=False,
        headers={"accept-encoding": "identity"},
        event_hooks={"response": [_bound_response]},
    )
