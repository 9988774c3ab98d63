"""The transport of many clients: streamable HTTP, on sockets that are open already."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager

from .crowds import Sessions
from .desk import Desk
from .framing import HEAD_BYTES, StrictProtocol
from .guard import Guard, Rules
from .messages import MAX_BYTES
from .server import BrainServer

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_IDLE_SECONDS = 1800.0
_LAST_SECONDS = 3
"""How long requests may go on once the server is told to end."""


async def serve(desk: Desk, sockets: list[socket.socket], rules: Rules) -> int:
    """Serve until a signal comes; return its number."""
    made = BrainServer(desk)
    manager = StreamableHTTPSessionManager(
        app=made.server,
        session_idle_timeout=_IDLE_SECONDS,
        max_request_body_size=MAX_BYTES,
        max_sessions=None,  # `Sessions` bounds them
    )
    config = uvicorn.Config(
        Guard(Sessions(StreamableHTTPASGIApp(manager), made.ended), rules),
        http=StrictProtocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        h11_max_incomplete_event_size=HEAD_BYTES,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=_LAST_SECONDS,
    )
    server = _Ending(config, made)
    try:
        async with manager.run():
            await server.serve(sockets)
    finally:
        for one in sockets:
            one.close()
    return server.ended_by


class _Ending(uvicorn.Server):
    """A server that says goodbye to those who listen, so that it need not wait for them.

    A signal ends it, and is not raised again here, in the midst of its tasks.
    """

    def __init__(self, config: uvicorn.Config, made: BrainServer) -> None:
        super().__init__(config)
        self._made = made
        self.ended_by = 0

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take signals in, where Python lets a thread do so."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Note the signal, and end."""
        self.ended_by = sig
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all streams, then the connections."""
        self._made.end_streams()
        await super().shutdown(sockets)
