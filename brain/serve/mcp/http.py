"""The SDK's streamable HTTP under uvicorn, on sockets already open, behind a guard.

The guard asks, in this order: Host, bearer token, Origin and Sec-Fetch-Site (without a token),
path. What it lets through the SDK reads, with its limit on bodies.
"""

from __future__ import annotations

import hmac
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager

from .brain_pool import BrainPool
from .mcp_server import BrainServer
from .stdio import MAX_MESSAGE_BYTES

ENDPOINT_PATH = "/mcp"
MAX_HEAD_BYTES = 32 << 10
"""Size of the head of a request."""
MAX_SESSIONS = 256
MAX_CONNECTIONS = 256
"""Sessions, and connections; further ones get 503, to come later."""
_SESSION_IDLE_SECONDS = 1800.0
_SHUTDOWN_SECONDS = 3
"""Seconds that running requests get after a signal."""
_END_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SECURITY_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]
_REPLACED_HEADERS = (b"access-control-", b"cache-control")

Scope = MutableMapping[str, Any]
AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]


class AccessRules(NamedTuple):
    """Allowed Host values (with ports), allowed origins, and the bearer token.

    With `token` "", requests from an allowed origin, or with none, as programs send them,
    are accepted without a token.
    """

    hosts: frozenset[str]
    origins: frozenset[str]
    token: str


async def serve_http(
    pool: BrainPool, sockets: list[socket.socket], access_rules: AccessRules
) -> int:
    """Serve until a signal arrives; return its number."""
    brain_server = BrainServer(pool)
    manager = StreamableHTTPSessionManager(
        app=brain_server.server,
        session_idle_timeout=_SESSION_IDLE_SECONDS,
        max_request_body_size=MAX_MESSAGE_BYTES,
        max_sessions=MAX_SESSIONS,
    )
    config = uvicorn.Config(
        HttpGuard(StreamableHTTPASGIApp(manager), access_rules, brain_server.end_session),
        http="h11",
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    server = _GracefulServer(config, brain_server)
    try:
        async with manager.run():
            await server.serve(sockets)
    finally:
        for listening in sockets:
            listening.close()
    return server.end_signal


class _GracefulServer(uvicorn.Server):
    """A uvicorn server that closes the event streams first, and so need not wait for them.

    It notes the signal that ends it, for the caller to raise again after its tasks ended.
    """

    def __init__(self, config: uvicorn.Config, brain_server: BrainServer) -> None:
        super().__init__(config)
        self._brain_server = brain_server
        self.end_signal = 0

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals during the block, if this is the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _END_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Note the signal and shut down."""
        self.end_signal = sig
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close all event streams, then the connections."""
        self._brain_server.end_streams()
        await super().shutdown(sockets)


class _AccessDenied(Exception):
    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class HttpGuard:
    """An ASGI middleware that refuses requests against the rules.

    `end_session` is called with the id of each session that its client closed.
    """

    def __init__(
        self, app: AsgiApp, rules: AccessRules, end_session: Callable[[str], Awaitable[None]]
    ) -> None:
        self._app = app
        self._rules = rules
        self._end_session = end_session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            return
        headers = _Headers(scope["headers"])
        try:
            self._check_access(scope, headers)
            session = headers.single_value(b"mcp-session-id")
        except _AccessDenied as denied:
            await _refuse(send, denied.status, denied.reason)
            return
        if session and scope["method"] == "DELETE":
            await self._end_session(session)
        await self._app(scope, receive, _add_security_headers(send))

    def _check_access(self, scope: Scope, headers: _Headers) -> None:
        rules = self._rules
        if headers.single_value(b"host").lower() not in rules.hosts:
            raise _AccessDenied(403, "this server has another host name")
        if headers.all_values(b"transfer-encoding") and headers.all_values(b"content-length"):
            raise _AccessDenied(400, "the length of the body is stated twice")
        kind, _, offered = headers.single_value(b"authorization").partition(" ")
        if rules.token:
            is_known = hmac.compare_digest(offered.strip().encode(), rules.token.encode())
            if kind.lower() != "bearer" or not is_known:
                reason = "a token is needed: send it as Authorization: Bearer TOKEN"
                raise _AccessDenied(403, reason)
        else:
            if any(origin not in rules.origins for origin in headers.all_values(b"origin")):
                raise _AccessDenied(403, "requests from that origin are refused")
            if headers.single_value(b"sec-fetch-site") not in ("", "none", "same-origin"):
                raise _AccessDenied(403, "requests from another site are refused")
        if scope["path"] != ENDPOINT_PATH:
            raise _AccessDenied(404, f"the only path is {ENDPOINT_PATH}")


class _Headers:
    """The headers of a request, names in lower case."""

    def __init__(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        self._pairs = list(pairs)

    def all_values(self, name: bytes) -> list[str]:
        return [value.decode("latin-1").strip() for key, value in self._pairs if key == name]

    def single_value(self, name: bytes) -> str:
        """Return the value of a header, "" if missing. Two may be read differently elsewhere."""
        values = self.all_values(name)
        if len(values) > 1:
            raise _AccessDenied(400, f"the header {name.decode()} occurs twice")
        return values[0] if values else ""


def _add_security_headers(send: Send) -> Send:
    async def send_with_headers(message: AsgiMessage) -> None:
        if message["type"] == "http.response.start":
            others = [
                pair
                for pair in message["headers"]
                if not pair[0].lower().startswith(_REPLACED_HEADERS)
            ]
            message = {**message, "headers": [*others, *_SECURITY_HEADERS]}
        await send(message)

    return send_with_headers


async def _refuse(send: Send, status: int, reason: str) -> None:
    """Respond and close the connection, without reading the rest of the request."""
    body = reason.encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *_SECURITY_HEADERS,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
