"""An HTTP client that refuses responses above a size limit."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

from .config import ModelConfig

MAX_RESPONSE_BYTES = 8 << 20
"""Size of one HTTP response of an endpoint."""


class ResponseTooLarge(Exception):
    """A response is too large, or compressed, so that its size is unknown."""


class _BoundedStream(httpx2.AsyncByteStream):
    """A stream that raises `ResponseTooLarge` above `MAX_RESPONSE_BYTES`."""

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


def bounded_client(settings: ModelConfig) -> httpx2.AsyncClient:
    """Return a client that follows no redirects, which could leak the key.

    A local endpoint is asked directly, without the proxies of the environment.
    """
    return httpx2.AsyncClient(
        timeout=settings.timeout,
        trust_env=not settings.is_local,
        follow_redirects=False,
        headers={"accept-encoding": "identity"},
        event_hooks={"response": [_bound_response]},
    )
