"""The HTTP transport: the SDK's streamable HTTP under uvicorn, on sockets already open."""

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
"""Seconds that running requests get after a signal."""


async def serve_http(
    pool: BrainPool, sockets: list[socket.socket], access_rules: AccessRules
) -> int:
    """Serve until a signal arrives; return its number."""
    brain_server = BrainServer(pool)
    manager = StreamableHTTPSessionManager(
        app=brain_server.server,
        session_idle_timeout=_SESSION_IDLE_SECONDS,
        max_request_body_size=MAX_REQUEST_BYTES,
        max_sessions=None,  # `SessionLimit` closes the idlest; the SDK would refuse the newest
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
