"""Limit sessions and connections by closing the one that has been idle longest.

A client that opens many and uses none thus cannot lock the others out.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from .http_auth import AsgiApp, AsgiMessage, Receive, RequestHeaders, Scope, Send

MAX_SESSIONS = 256
"""Sessions of the older revisions of the protocol, each of which takes memory."""
MAX_CONNECTIONS = 256
WAITING, READING, STREAMING, ANSWERING = range(4)
"""Activity of a connection: waiting for a head, reading a body, streaming, answering. They
are closed in this order. An answer that the client reads is never cut off; an answer that
it does not read counts as streaming."""
_SESSION_HEADER = b"mcp-session-id"


class TrackedConnection(Protocol):
    """A connection, as the limit sees it."""

    transport: asyncio.Transport

    @property
    def activity(self) -> int:
        """One of `WAITING`, `READING`, `STREAMING`, `ANSWERING`."""

    @property
    def active_since(self) -> int:
        """A number that grows with the time of the last change of activity."""


def close_idlest_connection(
    connections: Iterable[TrackedConnection], newest: TrackedConnection
) -> None:
    """Above `MAX_CONNECTIONS`, close the idlest, or the newest if all are answering."""
    others = [
        connection
        for connection in connections
        if connection is not newest and not connection.transport.is_closing()
    ]
    if len(others) < MAX_CONNECTIONS:
        return
    idle = [connection for connection in others if connection.activity != ANSWERING]
    idle.sort(key=lambda connection: (connection.activity, connection.active_since))
    (idle or [newest])[0].transport.abort()


class SessionLimit:
    """An ASGI application that closes the idlest session above `MAX_SESSIONS`.

    Idle time counts from the last message: a client that only listens is idle. `ended` is
    called with the id of each closed session.
    """

    def __init__(self, app: AsgiApp, ended: Callable[[str], Awaitable[None]]) -> None:
        self._app = app
        self._on_ended = ended
        self._sessions: OrderedDict[str, None] = OrderedDict()
        self._busy: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request and track its session."""
        session = next(iter(RequestHeaders(scope["headers"]).all_values(_SESSION_HEADER)), "")
        if scope["method"] == "DELETE" and session:
            self._sessions.pop(session, None)
            await self._on_ended(session)
        if scope["method"] == "POST" and session in self._sessions:
            await self._serve_known_session(session, scope, receive, send)
        elif session:
            await self._app(scope, receive, send)
        else:
            await self._app(scope, receive, self._track_opened_session(send))
            while len(self._sessions) > MAX_SESSIONS:
                await self._end_idlest_session(scope)

    async def _serve_known_session(
        self, session: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        self._busy[session] += 1
        self._sessions.move_to_end(session)
        try:
            await self._app(scope, receive, send)
        finally:
            self._busy[session] -= 1
            if not self._busy[session]:
                del self._busy[session]
            if session in self._sessions:
                self._sessions.move_to_end(session)

    def _track_opened_session(self, send: Send) -> Send:
        """Return `send` with tracking of the session that the response opens."""

        async def tracking_send(message: AsgiMessage) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                for session in RequestHeaders(message["headers"]).all_values(_SESSION_HEADER):
                    self._sessions[session] = None
            await send(message)

        return tracking_send

    async def _end_idlest_session(self, scope_template: Scope) -> None:
        """Close a session by the request with which its client would."""
        oldest = next(iter(self._sessions))
        session = next((session for session in self._sessions if session not in self._busy), oldest)
        del self._sessions[session]
        headers = [(_SESSION_HEADER, session.encode()), (b"accept", b"application/json")]
        scope = {**scope_template, "method": "DELETE", "headers": headers}
        await self._on_ended(session)
        await self._app(scope, _empty_body, _discard_message)


async def _empty_body() -> AsgiMessage:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _discard_message(message: AsgiMessage) -> None:
    """Ignore a response that no client waits for."""
