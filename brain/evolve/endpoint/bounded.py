"""HTTP of which no answer is longer than is allowed."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

from ..settings import Settings

MAX_BYTES = 8 << 20
"""Size of one answer of an endpoint, all of what surrounds the text included."""


class TooLarge(Exception):
    """An answer is longer than is allowed, or packed so that its length is not known."""


class _Bounded(httpx2.AsyncByteStream):
    """A stream that ends with an error past `MAX_BYTES`."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > MAX_BYTES:
                raise TooLarge(f"more than {MAX_BYTES} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise TooLarge("it is compressed, which was not asked for")
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream)


def client(settings: Settings) -> httpx2.AsyncClient:
    """Return a client for one request; it follows no redirects, which could take the key along.

    What is on this machine is asked past the proxies of the environment.
    """
    return httpx2.AsyncClient(
        timeout=settings.timeout,
        trust_env=not settings.is_local,
        follow_redirects=False,
        headers={"accept-encoding": "identity"},
        event_hooks={"response": [_bound]},
    )
