"""The SDK's streamable HTTP under uvicorn, on sockets already open, behind a guard.

The guard asks, in this order: Host, Origin, bearer token, path. What it lets through the SDK
reads, with its limit on bodies. The token is in a file that only its owner can read, outside the
brain: a copy of a brain must neither reveal nor choose it.
"""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import stat
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager

from ...errors import InvalidInput
from .brain_pool import BrainPool
from .mcp_server import BrainServer
from .stdio import MAX_MESSAGE_BYTES, run_until_signal

ENDPOINT_PATH = "/mcp"
MAX_HEAD_BYTES = 32 << 10
"""Size of the head of a request."""
MAX_SESSIONS = 256
MAX_CONNECTIONS = 256
"""Sessions, and connections; further ones get 503, to come later."""
MIN_TOKEN_CHARS = 32
_MAX_TOKEN_BYTES = 512
_SESSION_IDLE_SECONDS = 1800.0
_SHUTDOWN_SECONDS = 3
"""Seconds that running requests get after a signal."""
_LOOPBACK_HOSTS = ("127.0.0.1", "::1", "localhost")
_ANY_HOSTS = ("0.0.0.0", "::")
_HTTP_PORT = 80
_SINGLE_HEADERS = (b"host", b"origin", b"authorization", b"mcp-session-id")
"""Of two, another program in between may read the other one."""

AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]
AsgiApp = Callable[[AsgiMessage, Receive, Send], Awaitable[None]]


def serve_sockets(
    pool: BrainPool, sockets: list[socket.socket], hosts: frozenset[str], token: str
) -> None:
    """Serve clients that send `token`, under the names in `hosts`, until a signal.

    With no `hosts` each name is its own. The signal is raised again.
    """
    anyio.run(_serve, pool, sockets, hosts, token)


async def _serve(
    pool: BrainPool, sockets: list[socket.socket], hosts: frozenset[str], token: str
) -> None:
    brain_server = BrainServer(pool)
    manager = StreamableHTTPSessionManager(
        app=brain_server.server,
        session_idle_timeout=_SESSION_IDLE_SECONDS,
        max_request_body_size=MAX_MESSAGE_BYTES,
        max_sessions=MAX_SESSIONS,
    )
    guard = HttpGuard(StreamableHTTPASGIApp(manager), hosts, token, brain_server.end_session)
    config = uvicorn.Config(
        guard,
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
    server = uvicorn.Server(config)
    server.capture_signals = nullcontext  # type: ignore[method-assign, assignment]

    def stop() -> None:
        brain_server.end_streams()  # else it waits for them
        server.should_exit = True

    async def serve() -> None:
        try:
            async with manager.run():
                await server.serve(sockets)
        finally:
            for listening in sockets:
                listening.close()

    await run_until_signal(serve, stop)


class HttpGuard:
    """An ASGI middleware that refuses requests of strangers, and of pages in a browser.

    `end_session` is called with the id of each session that its client closed.
    """

    def __init__(
        self,
        app: AsgiApp,
        hosts: frozenset[str],
        token: str,
        end_session: Callable[[str], Awaitable[None]],
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._token = token
        self._end_session = end_session

    async def __call__(self, scope: AsgiMessage, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it without reading the rest of it."""
        if scope["type"] != "http":
            return
        names = [name for name, _ in scope["headers"]]
        headers = {name: value.decode("latin-1").strip() for name, value in scope["headers"]}
        if any(names.count(name) > 1 for name in _SINGLE_HEADERS):
            status, reason = 400, "a header occurs twice"
        else:
            status, reason = self._check(headers, scope["path"])
        if status:
            await _refuse(send, status, reason)
            return
        session = headers.get(b"mcp-session-id", "")
        if session and scope["method"] == "DELETE":
            await self._end_session(session)
        await self._app(scope, receive, send)

    def _check(self, headers: Mapping[bytes, str], path: str) -> tuple[int, str]:
        """Return the status and the reason of a refusal, 0 for none."""
        host = headers.get(b"host", "").lower()
        if self._hosts and host not in self._hosts:
            return 403, "this server has another host name"
        if b"transfer-encoding" in headers and b"content-length" in headers:
            return 400, "the length of the body is stated twice"
        if headers.get(b"origin", f"http://{host}").lower() != f"http://{host}":
            return 403, "requests from that origin are refused"
        kind, _, offered = headers.get(b"authorization", "").partition(" ")
        is_known = hmac.compare_digest(offered.strip().encode(), self._token.encode())
        if kind.lower() != "bearer" or not is_known:
            return 403, "a token is needed: send it as Authorization: Bearer TOKEN"
        return (0, "") if path == ENDPOINT_PATH else (404, f"the only path is {ENDPOINT_PATH}")


async def _refuse(send: Send, status: int, reason: str) -> None:
    """Respond and close the connection, without reading the rest of the request."""
    body = reason.encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def open_sockets(host: str, port: int) -> list[socket.socket]:
    """Return sockets that listen at `host`; for "localhost", on both loopback addresses.

    Port 0 is a free one. Raises `InvalidInput` (`cannot_listen`).
    """
    anyio.run(anyio.sleep, 0)  # a signal that comes while the event loop loads can be lost
    opened: list[socket.socket] = []
    for address in ("127.0.0.1", "::1") if host == "localhost" else (host,):
        try:
            opened.append(_open_socket(address, opened[0].getsockname()[1] if opened else port))
        except (OSError, UnicodeError) as error:  # UnicodeError: not a possible host name
            if opened:
                break  # this machine has no IPv6
            reason = error.strerror or error if isinstance(error, OSError) else "not a host name"
            raise InvalidInput(
                f"cannot listen at {host}:{port}: {reason}",
                code="cannot_listen",
                hint="name another port; 0 picks a free one",
            ) from error
    return opened


def endpoint_url(host: str, port: int) -> str:
    """Return the URL of a server that listens at `host`."""
    return f"http://{_bracket_ipv6(host)}:{port}{ENDPOINT_PATH}"


def own_names(host: str, port: int) -> frozenset[str]:
    """Return what clients of a server that listens at `host` send as Host; none if anything."""
    if host in _ANY_HOSTS:
        return frozenset()
    names = {_bracket_ipv6(name.lower()) for name in (*_LOOPBACK_HOSTS, host)}
    known = {f"{name}:{port}" for name in names}
    return frozenset(known | names if port == _HTTP_PORT else known)


def _bracket_ipv6(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _open_socket(host: str, port: int) -> socket.socket:
    (family, kind, protocol, _, address), *_ = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    server = socket.socket(family, kind, protocol)
    try:
        if family == socket.AF_INET6:
            server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(address)
        server.listen(128)
    except OSError:
        server.close()
        raise
    return server


def load_or_create_token(path: Path) -> str:
    """Return the token in a file; create the file with a new token if it does not exist.

    Raises `InvalidInput` (`token_exposed`) if others can read the file, `InvalidInput`
    (`bad_token`) if it holds no token, and `OSError`.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return _load_token(path)
    token = secrets.token_urlsafe(MIN_TOKEN_CHARS)
    with os.fdopen(handle, "w") as file:
        file.write(f"{token}\n")
    return token


def _load_token(path: Path) -> str:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        st = os.fstat(file.fileno())
        if st.st_mode & 0o077 or st.st_uid != os.geteuid() or st.st_nlink > 1:
            raise InvalidInput(
                f"others may know the token in {path}",
                code="token_exposed",
                hint="delete the file: the server then creates one that only you can read",
            )
        content = file.read(_MAX_TOKEN_BYTES) if stat.S_ISREG(st.st_mode) else b""
    text = content.decode("ascii", "replace").strip()
    if len(text) < MIN_TOKEN_CHARS or not text.isprintable() or not text.isascii() or " " in text:
        raise InvalidInput(
            f"{path} holds no token",
            code="bad_token",
            hint=f"delete the file, or write at least {MIN_TOKEN_CHARS} letters and digits to it",
        )
    return text
