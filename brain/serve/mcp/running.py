"""Serving a desk until its clients are gone: the way in, which imports the SDK when it is used."""

from __future__ import annotations

import signal
import socket
import threading
from typing import TYPE_CHECKING

from ...errors import BrainError, InvalidInput, printable

if TYPE_CHECKING:
    import anyio

    from .desk import Desk
    from .guard import Rules


def check_extra() -> None:
    """Raise `BrainError` (`missing_extra`) where the SDK is not installed."""
    from importlib.util import find_spec

    if find_spec("mcp") is None or find_spec("mcp_types") is None:
        raise BrainError(
            "serving agents needs the package mcp, version 2.3 or later",
            code="missing_extra",
            hint="pip install 'agent-brain[serve]'",
        )


def serve_pipes(desk: Desk, read: int, write: int) -> None:
    """Serve one client, which writes to the one descriptor and reads from the other.

    Returns when the client closed its end; a signal ends it too, and is then raised again.
    Nothing else may be written to `write`. Raises `BrainError` (`missing_extra`).
    """
    check_extra()
    import anyio

    if number := anyio.run(_pipes, desk, read, write):
        signal.raise_signal(number)


def serve_sockets(desk: Desk, sockets: list[socket.socket], rules: Rules) -> None:
    """Serve clients over HTTP until a signal comes, which is then raised again.

    Raises `BrainError` (`missing_extra`).
    """
    check_extra()
    import anyio

    from .http import serve

    if number := anyio.run(serve, desk, sockets, rules):
        signal.raise_signal(number)


def listen(host: str, port: int) -> list[socket.socket]:
    """Return sockets that listen at `host`, on both loopback addresses for "localhost".

    Raises `InvalidInput` (`cannot_listen`).
    """
    hosts = ("127.0.0.1", "::1") if host == "localhost" else (host,)
    opened: list[socket.socket] = []
    for one in hosts:
        try:
            opened.append(_listening(one, opened[0].getsockname()[1] if opened else port))
        except (OSError, UnicodeError) as error:  # the latter for what no name of a host can be
            if opened:
                break  # a machine with IPv4 alone
            why = error.strerror if isinstance(error, OSError) else "not the name of a host"
            raise InvalidInput(
                f"cannot listen at {printable(host)}:{port}: {printable(why or error)}",
                code="cannot_listen",
                hint="name another port; with 0 a free one is taken",
            ) from error
    return opened


def _listening(host: str, port: int) -> socket.socket:
    (family, kind, protocol, _, address), *_ = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    made = socket.socket(family, kind, protocol)
    try:
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(128)
    except OSError:
        made.close()
        raise
    return made


async def _pipes(desk: Desk, read: int, write: int) -> int:
    """Serve; return the number of the signal that ended it, else 0."""
    import anyio
    from mcp.server.runner import serve_dual_era_loop

    from .server import BrainServer
    from .stdio import Pipes

    made = BrainServer(desk)
    pipes = Pipes(read, write, made.end_streams)
    ended_by: list[int] = []
    async with anyio.create_task_group() as group:
        if threading.current_thread() is threading.main_thread():
            group.start_soon(_until_signal, group.cancel_scope, ended_by)
        async with pipes.open() as (incoming, outgoing), made.server.lifespan(made.server) as state:
            await serve_dual_era_loop(made.server, incoming, outgoing, lifespan_state=state)
        group.cancel_scope.cancel()
    return ended_by[0] if ended_by else 0


async def _until_signal(scope: anyio.CancelScope, ended_by: list[int]) -> None:
    import anyio

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        with anyio.open_signal_receiver(*numbers) as signals:
            async for number in signals:
                ended_by.append(number)
                scope.cancel()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
