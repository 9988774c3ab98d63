"""Who may send HTTP requests, and how large: host, origin, token, body size.

In this order: the name the request was sent to, what its body is framed by, the page it
comes from, the token, the path, the size and the speed of the body, the JSON in it.
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
"""How long the body of a request may take."""
_SECURITY_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]
_REPLACED_HEADERS = (b"access-control-", b"cache-control")


class AccessRules(NamedTuple):
    """What is let in: names of hosts with ports, origins, and who shows the token.

    `token` "" lets everybody in who comes from an allowed origin or, as programs do, from
    none.
    """

    hosts: frozenset[str]
    origins: frozenset[str]
    token: str


class AccessDenied(Exception):
    """A request that is not let in."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason.encode()


class HttpGuard:
    """An application before another one."""

    def __init__(self, app: AsgiApp, rules: AccessRules) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
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
            return  # the client is gone
        else:
            await self._app(scope, _replay_body(body, receive), _add_security_headers(send))

    def _check_access(self, scope: Scope, headers: RequestHeaders) -> None:
        rules = self._rules
        if headers.single_value(b"host").lower() not in rules.hosts:
            raise AccessDenied(403, "this server does not answer to that name")
        if headers.all_values(b"transfer-encoding") and headers.all_values(b"content-length"):
            raise AccessDenied(400, "the length of the body is stated twice")
        shown = headers.single_value(b"authorization").partition(" ")
        known = (
            bool(rules.token)
            and shown[0].lower() == "bearer"
            and _tokens_match(shown[2], rules.token)
        )
        if not known:
            if rules.token:
                raise AccessDenied(403, "a token is needed: send it as Authorization: Bearer TOKEN")
            if any(origin not in rules.origins for origin in headers.all_values(b"origin")):
                raise AccessDenied(403, "not from that page")
            if headers.single_value(b"sec-fetch-site") not in ("", "none", "same-origin"):
                raise AccessDenied(403, "not from another page")
        if scope["path"] != ENDPOINT_PATH:
            raise AccessDenied(404, f"there is only {ENDPOINT_PATH}")


class RequestHeaders:
    """The headers of a request, names in lower case."""

    def __init__(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        self._pairs = list(pairs)

    def all_values(self, name: bytes) -> list[str]:
        """Return every value of a header."""
        return [value.decode("latin-1").strip() for key, value in self._pairs if key == name]

    def single_value(self, name: bytes) -> str:
        """Return the value of a header, "" if there is none. Raises `Denied` for several."""
        values = self.all_values(name)
        if len(values) > 1:
            raise AccessDenied(400, f"{name.decode()} is stated twice")
        return values[0] if values else ""


def _tokens_match(shown: str, token: str) -> bool:
    return hmac.compare_digest(shown.strip().encode(), token.encode())


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
    """Return what gives the body that was read already, then whatever comes."""
    first: list[AsgiMessage] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> AsgiMessage:
        return first.pop() if first else await receive()

    return replay


def _add_security_headers(send: Send) -> Send:
    async def send_with_headers(message: AsgiMessage) -> None:
        if message["type"] == "http.response.start":
            kept = [
                pair
                for pair in message["headers"]
                if not pair[0].lower().startswith(_REPLACED_HEADERS)
            ]
            message = {**message, "headers": [*kept, *_SECURITY_HEADERS]}
        await send(message)

    return send_with_headers


async def _send_response(send: Send, status: int, kind: bytes, body: bytes) -> None:
    """Answer and hang up: what is left of the request is not read."""
    headers = [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *_SECURITY_HEADERS,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
