"""Open the pydantic-ai model that the settings name."""

from __future__ import annotations

from contextlib import AsyncExitStack

from pydantic_ai.models import Model

from ..model_config import ModelConfig
from .bounded_http import bounded_client


async def open_provider_model(settings: ModelConfig, key: str, stack: AsyncExitStack) -> Model:
    """Return the model that the settings name; `stack` closes its connections.

    Retries of the client libraries are turned off: `EndpointModel` retries.
    """
    name = settings.model.partition(":")[2]
    if settings.provider == "bedrock":
        return _bedrock_model(name, settings, key)
    http = await stack.enter_async_context(bounded_client(settings))
    url = settings.base_url or None
    if settings.provider == "anthropic":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        anthropic_client = AsyncAnthropic(
            api_key=key, base_url=url, http_client=http, max_retries=0, timeout=settings.timeout
        )
        return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=anthropic_client))
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    # Local endpoints mostly need no key, but the library refuses an empty one.
    openai_client = AsyncOpenAI(
        api_key=key or "none",
        base_url=url,
        http_client=http,
        max_retries=0,
        timeout=settings.timeout,
    )
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
