"""The transport of many clients: streamable HTTP, on sockets that are open already."""

from __future__ import annotations

import socket

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager

from .desk import Desk
from .framing import HEAD_BYTES, StrictProtocol
from .guard import Guard, Rules
from .messages import MAX_BYTES
from .server import BrainServer

MAX_SESSIONS = 256
"""Sessions of the older revisions, each of which keeps something in memory."""
MAX_CONNECTIONS = 256
_IDLE_SECONDS = 1800.0
_LAST_SECONDS = 3
"""How long requests may go on once the server is told to end."""


async def serve(desk: Desk, sockets: list[socket.socket], rules: Rules) -> None:
    """Serve until a signal comes."""
    made = BrainServer(desk)
    manager = StreamableHTTPSessionManager(
        app=made.server,
        session_idle_timeout=_IDLE_SECONDS,
        max_request_body_size=MAX_BYTES,
        max_sessions=MAX_SESSIONS,
    )
    config = uvicorn.Config(
        Guard(StreamableHTTPASGIApp(manager), rules),
        http=StrictProtocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        h11_max_incomplete_event_size=HEAD_BYTES,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=_LAST_SECONDS,
    )
    async with manager.run():
        await _Ending(config, made).serve(sockets)


class _Ending(uvicorn.Server):
    """A server that says goodbye to those who listen, so that it need not wait for them."""

    def __init__(self, config: uvicorn.Config, made: BrainServer) -> None:
        super().__init__(config)
        self._made = made

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all streams, then the connections."""
        self._made.end_streams()
        await super().shutdown(sockets)
