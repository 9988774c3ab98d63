"""Who may talk to the server over HTTP, and how much: checked before anything else looks.

In this order: the name the request was sent to, what its body is framed by, the page it
comes from, the token, the path, the size and the speed of the body, the JSON in it.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, NamedTuple

import anyio

from .messages import MAX_BYTES, Refused, parse

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PATH = "/mcp"
BODY_SECONDS = 30.0
"""How long the body of a request may take."""
_ALWAYS = [
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]
_ANSWERED = (b"access-control-", b"cache-control")


class Rules(NamedTuple):
    """What is let in: names of hosts with ports, origins, and who shows the token.

    `token` "" lets everybody in who comes from an allowed origin or, as programs do, from
    none.
    """

    hosts: frozenset[str]
    origins: frozenset[str]
    token: str


class Denied(Exception):
    """A request that is not let in."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason.encode()


class Guard:
    """An application before another one."""

    def __init__(self, app: App, rules: Rules) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] != "http":
            return
        try:
            headers = Headers(scope["headers"])
            self._check(scope, headers)
            body = await _body(receive, headers) if scope["method"] == "POST" else b""
        except Denied as denied:
            await _answer(send, denied.status, b"text/plain; charset=utf-8", denied.reason)
        except Refused as refused:
            await _answer(send, 400, b"application/json", refused.answer())
        except anyio.EndOfStream:
            return  # the client is gone
        else:
            await self._app(scope, _again(body, receive), _with_headers(send))

    def _check(self, scope: Scope, headers: Headers) -> None:
        rules = self._rules
        if headers.one(b"host").lower() not in rules.hosts:
            raise Denied(403, "this server does not answer to that name")
        if headers.all(b"transfer-encoding") and headers.all(b"content-length"):
            raise Denied(400, "the length of the body is stated twice")
        shown = headers.one(b"authorization").partition(" ")
        known = bool(rules.token) and shown[0].lower() == "bearer" and _same(shown[2], rules.token)
        if not known:
            if rules.token:
                raise Denied(403, "a token is needed: send it as Authorization: Bearer TOKEN")
            if any(origin not in rules.origins for origin in headers.all(b"origin")):
                raise Denied(403, "not from that page")
            if headers.one(b"sec-fetch-site") not in ("", "none", "same-origin"):
                raise Denied(403, "not from another page")
        if scope["path"] != PATH:
            raise Denied(404, f"there is only {PATH}")


class Headers:
    """The headers of a request, names in lower case."""

    def __init__(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        self._pairs = list(pairs)

    def all(self, name: bytes) -> list[str]:
        """Return every value of a header."""
        return [value.decode("latin-1").strip() for key, value in self._pairs if key == name]

    def one(self, name: bytes) -> str:
        """Return the value of a header, "" if there is none. Raises `Denied` for several."""
        values = self.all(name)
        if len(values) > 1:
            raise Denied(400, f"{name.decode()} is stated twice")
        return values[0] if values else ""


def _same(shown: str, token: str) -> bool:
    return hmac.compare_digest(shown.strip().encode(), token.encode())


async def _body(receive: Receive, headers: Headers) -> bytes:
    declared = headers.one(b"content-length")
    if declared.isdigit() and int(declared[:20]) > MAX_BYTES:
        raise _too_large()
    parts: list[bytes] = []
    size = 0
    try:
        with anyio.fail_after(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise anyio.EndOfStream
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > MAX_BYTES:
                    raise _too_large()
                if not message.get("more_body", False):
                    break
    except TimeoutError:
        raise Denied(408, "the body takes too long") from None
    body = b"".join(parts)
    parse(body)
    return body


def _too_large() -> Denied:
    return Denied(413, f"a message has at most {MAX_BYTES >> 20} MB")


def _again(body: bytes, receive: Receive) -> Receive:
    """Return what gives the body that was read already, then whatever comes."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return first.pop() if first else await receive()

    return again


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [
                pair for pair in message["headers"] if not pair[0].lower().startswith(_ANSWERED)
            ]
            message = {**message, "headers": [*kept, *_ALWAYS]}
        await send(message)

    return sending


async def _answer(send: Send, status: int, kind: bytes, body: bytes) -> None:
    """Answer and hang up: what is left of the request is not read."""
    headers = [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *_ALWAYS,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
