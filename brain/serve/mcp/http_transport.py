"""The HTTP transport: streamable HTTP on sockets that are already open."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager

from .brain_pool import BrainPool
from .connection_limits import SessionLimit
from .http_auth import AccessRules, HttpGuard
from .jsonrpc import MAX_REQUEST_BYTES
from .mcp_server import BrainServer
from .strict_http import MAX_HEAD_BYTES, StrictHttpProtocol

_END_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SESSION_IDLE_SECONDS = 1800.0
_SHUTDOWN_SECONDS = 3
"""How long requests may go on once the server is told to end."""


async def serve_http(
    pool: BrainPool, sockets: list[socket.socket], access_rules: AccessRules
) -> int:
    """Serve until a signal comes; return its number."""
    brain_server = BrainServer(pool)
    manager = StreamableHTTPSessionManager(
        app=brain_server.server,
        session_idle_timeout=_SESSION_IDLE_SECONDS,
        max_request_body_size=MAX_REQUEST_BYTES,
        max_sessions=None,  # `Sessions` bounds them
    )
    config = uvicorn.Config(
        HttpGuard(
            SessionLimit(StreamableHTTPASGIApp(manager), brain_server.end_session), access_rules
        ),
        http=StrictHttpProtocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    server = _GracefulServer(config, brain_server)
    try:
        async with manager.run():
            await server.serve(sockets)
    finally:
        for one in sockets:
            one.close()
    return server.end_signal


class _GracefulServer(uvicorn.Server):
    """A server that says goodbye to those who listen, so that it need not wait for them.

    A signal ends it, and is not raised again here, in the midst of its tasks.
    """

    def __init__(self, config: uvicorn.Config, brain_server: BrainServer) -> None:
        super().__init__(config)
        self._brain_server = brain_server
        self.end_signal = 0

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take signals in, where Python lets a thread do so."""
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
        """Note the signal, and end."""
        self.end_signal = sig
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all streams, then the connections."""
        self._brain_server.end_streams()
        await super().shutdown(sockets)
