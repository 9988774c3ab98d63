"""Run the MCP server on pipes or sockets; the SDK is imported only then."""

from __future__ import annotations

import signal
import socket
import threading
from typing import TYPE_CHECKING

from ...errors import BrainError, InvalidInput

if TYPE_CHECKING:
    import anyio

    from .brain_pool import BrainPool
    from .http import AccessRules


def require_sdk() -> None:
    """Raise `BrainError` (`missing_extra`) if the SDK is not installed."""
    from importlib.util import find_spec

    if find_spec("mcp") is None or find_spec("mcp_types") is None:
        raise BrainError(
            "serving agents needs the package mcp, version 2.3 or later",
            code="missing_extra",
            hint="pip install 'agent-brain[serve]'",
        )


def serve_pipes(pool: BrainPool, read: int, write: int) -> None:
    """Serve one client: read its messages from `read`, write answers to `write`.

    Returns when the client closes its end. A signal ends the server, too, and is raised
    again. Nothing else may write to `write`. Raises `BrainError` (`missing_extra`).
    """
    require_sdk()
    import anyio

    if number := anyio.run(_run_stdio, pool, read, write):
        signal.raise_signal(number)


def serve_sockets(pool: BrainPool, sockets: list[socket.socket], access_rules: AccessRules) -> None:
    """Serve clients over HTTP until a signal, which is raised again.

    Raises `BrainError` (`missing_extra`).
    """
    require_sdk()
    import anyio

    from .http import serve_http

    if number := anyio.run(serve_http, pool, sockets, access_rules):
        signal.raise_signal(number)


def load_http_server() -> None:
    """Import what `serve_sockets` needs, before clients hear of the server.

    A signal that comes while Python imports can be lost.
    """
    require_sdk()
    import anyio

    from . import http  # noqa: F401

    anyio.run(anyio.sleep, 0)  # which loads the event loop


def open_sockets(host: str, port: int) -> list[socket.socket]:
    """Return sockets that listen at `host`; for "localhost", on both loopback addresses.

    Raises `InvalidInput` (`cannot_listen`).
    """
    hosts = ("127.0.0.1", "::1") if host == "localhost" else (host,)
    opened: list[socket.socket] = []
    for address in hosts:
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


async def _run_stdio(pool: BrainPool, read: int, write: int) -> int:
    """Serve; return the number of the signal that ended the server, else 0."""
    import anyio
    from mcp.server.runner import serve_dual_era_loop

    from .mcp_server import BrainServer
    from .stdio import open_stdio

    server = BrainServer(pool)
    signals_received: list[int] = []
    async with anyio.create_task_group() as group:
        if threading.current_thread() is threading.main_thread():
            group.start_soon(_cancel_on_signal, group.cancel_scope, signals_received)
        async with (
            open_stdio(read, write, server.end_streams) as (incoming, outgoing),
            server.server.lifespan(server.server) as state,
        ):
            await serve_dual_era_loop(server.server, incoming, outgoing, lifespan_state=state)
        group.cancel_scope.cancel()
    return signals_received[0] if signals_received else 0


async def _cancel_on_signal(scope: anyio.CancelScope, signals_received: list[int]) -> None:
    import anyio

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        with anyio.open_signal_receiver(*numbers) as signals:
            async for number in signals:
                signals_received.append(number)
                scope.cancel()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
