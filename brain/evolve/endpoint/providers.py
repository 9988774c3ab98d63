"""The models of pydantic-ai that settings name."""

from __future__ import annotations

from contextlib import AsyncExitStack

from pydantic_ai.models import Model

from ..settings import Settings
from .bounded import client


async def model_of(settings: Settings, key: str, stack: AsyncExitStack) -> Model:
    """Return the model that settings name; what it keeps open is closed with `stack`.

    None of them tries anything again by itself: how often that is done is for `Endpoint`.
    """
    name = settings.model.partition(":")[2]
    if settings.provider == "bedrock":
        return _bedrock(name, settings, key)
    http = await stack.enter_async_context(client(settings))
    url = settings.base_url or None
    if settings.provider == "anthropic":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        claude = AsyncAnthropic(
            api_key=key, base_url=url, http_client=http, max_retries=0, timeout=settings.timeout
        )
        return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=claude))
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    # Endpoints on this machine mostly want no key; the library wants one that is not empty.
    gpt = AsyncOpenAI(
        api_key=key or "none",
        base_url=url,
        http_client=http,
        max_retries=0,
        timeout=settings.timeout,
    )
    return OpenAIChatModel(name, provider=OpenAIProvider(openai_client=gpt))


def _bedrock(name: str, settings: Settings, key: str) -> Model:
    """Return a model of Bedrock; without a key, with the credentials that AWS's own tools use."""
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
        made = boto3.Session().client("bedrock-runtime", config=bounds, endpoint_url=url)
        provider = BedrockProvider(bedrock_client=made)
    return BedrockConverseModel(name, provider=provider)
