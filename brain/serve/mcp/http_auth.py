"""Check HTTP requests before the SDK sees them.

In this order: Host, framing of the body, bearer token, Origin and Sec-Fetch-Site (without a
token), path, size and speed of the body, the JSON in it.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, NamedTuple

import anyio

from .jsonrpc import MAX_REQUEST_BYTES, MessageRefused, parse_message

Scope = MutableMapping[str, Any]
AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

ENDPOINT_PATH = "/mcp"
MAX_BODY_SECONDS = 30.0
"""Seconds in which the body of a request must arrive."""
_SECURITY_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]
_REPLACED_HEADERS = (b"access-control-", b"cache-control")


class AccessRules(NamedTuple):
    """Allowed Host values (with ports), allowed origins, and the bearer token.

    With `token` "", requests from an allowed origin, or with none, as programs send them,
    are accepted without a token.
    """

    hosts: frozenset[str]
    origins: frozenset[str]
    token: str


class AccessDenied(Exception):
    """A request that is refused; `status` is the HTTP status."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason.encode()


class HttpGuard:
    """An ASGI middleware that refuses requests against the rules."""

    def __init__(self, app: AsgiApp, rules: AccessRules) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            return
        try:
            headers = RequestHeaders(scope["headers"])
            self._check_access(scope, headers)
            body = await _read_body(receive, headers) if scope["method"] == "POST" else b""
        except AccessDenied as denied:
            await _send_response(send, denied.status, b"text/plain; charset=utf-8", denied.reason)
        except MessageRefused as refused:
            await _send_response(send, 400, b"application/json", refused.error_response())
        except anyio.EndOfStream:
            return  # the client disconnected
        else:
            await self._app(scope, _replay_body(body, receive), _add_security_headers(send))

    def _check_access(self, scope: Scope, headers: RequestHeaders) -> None:
        rules = self._rules
        if headers.single_value(b"host").lower() not in rules.hosts:
            raise AccessDenied(403, "this server has another host name")
        if headers.all_values(b"transfer-encoding") and headers.all_values(b"content-length"):
            raise AccessDenied(400, "the length of the body is stated twice")
        authorization = headers.single_value(b"authorization").partition(" ")
        has_token = (
            bool(rules.token)
            and authorization[0].lower() == "bearer"
            and _tokens_match(authorization[2], rules.token)
        )
        if not has_token:
            if rules.token:
                raise AccessDenied(403, "a token is needed: send it as Authorization: Bearer TOKEN")
            if any(origin not in rules.origins for origin in headers.all_values(b"origin")):
                raise AccessDenied(403, "requests from that origin are refused")
            if headers.single_value(b"sec-fetch-site") not in ("", "none", "same-origin"):
                raise AccessDenied(403, "requests from another site are refused")
        if scope["path"] != ENDPOINT_PATH:
            raise AccessDenied(404, f"the only path is {ENDPOINT_PATH}")


class RequestHeaders:
    """The headers of a request, names in lower case."""

    def __init__(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        self._pairs = list(pairs)

    def all_values(self, name: bytes) -> list[str]:
        """Return every value of a header."""
        return [value.decode("latin-1").strip() for key, value in self._pairs if key == name]

    def single_value(self, name: bytes) -> str:
        """Return the value of a header, "" if missing. Raises `AccessDenied` (400) for several."""
        values = self.all_values(name)
        if len(values) > 1:
            raise AccessDenied(400, f"the header {name.decode()} occurs twice")
        return values[0] if values else ""


def _tokens_match(credentials: str, token: str) -> bool:
    return hmac.compare_digest(credentials.strip().encode(), token.encode())


async def _read_body(receive: Receive, headers: RequestHeaders) -> bytes:
    declared = headers.single_value(b"content-length")
    if declared.isdigit() and int(declared[:20]) > MAX_REQUEST_BYTES:
        raise _too_large_error()
    parts: list[bytes] = []
    size = 0
    try:
        with anyio.fail_after(MAX_BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise anyio.EndOfStream
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > MAX_REQUEST_BYTES:
                    raise _too_large_error()
                if not message.get("more_body", False):
                    break
    except TimeoutError:
        raise AccessDenied(408, "the body takes too long") from None
    body = b"".join(parts)
    parse_message(body)
    return body


def _too_large_error() -> AccessDenied:
    return AccessDenied(413, f"a message has at most {MAX_REQUEST_BYTES >> 20} MB")


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that yields the body read before, then the messages after it."""
    unread: list[AsgiMessage] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> AsgiMessage:
        return unread.pop() if unread else await receive()

    return replay


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


async def _send_response(send: Send, status: int, kind: bytes, body: bytes) -> None:
    """Respond and close the connection, without reading the rest of the request."""
    headers = [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *_SECURITY_HEADERS,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
