"""Limit sessions and connections by closing the one idle for longest.

Where there are too many, the one that has been idle for longest ends, so that who holds
many open and says nothing makes room for those who ask.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from .http_auth import AsgiApp, AsgiMessage, Receive, RequestHeaders, Scope, Send

MAX_SESSIONS = 256
"""Sessions of the older revisions, each of which keeps something in memory."""
MAX_CONNECTIONS = 256
WAITING, READING, STREAMING, ANSWERING = range(4)
"""What a connection is in the midst of: a head, a body, a stream, an answer. In this order
they give way; an answer that is taken is never cut off, one that is not counts as a stream."""
_SESSION_HEADER = b"mcp-session-id"


class TrackedConnection(Protocol):
    """A connection, as far as room is made of it."""

    transport: asyncio.Transport

    @property
    def activity(self) -> int:
        """What it is in the midst of."""

    @property
    def active_since(self) -> int:
        """A number that is greater for who came to that later."""


def close_idlest_connection(
    connections: Iterable[TrackedConnection], newest: TrackedConnection
) -> None:
    """Close one connection if there are too many: the idlest, or the newest if all are busy."""
    others = [one for one in connections if one is not newest and not one.transport.is_closing()]
    if len(others) < MAX_CONNECTIONS:
        return
    idle = [one for one in others if one.activity != ANSWERING]
    min(idle, key=lambda one: (one.activity, one.active_since), default=newest).transport.abort()


class SessionLimit:
    """An application that ends the idlest session where there are too many.

    Listening is no activity: a session is as old as its last message. `ended` is told of
    each that ends.
    """

    def __init__(self, app: AsgiApp, ended: Callable[[str], Awaitable[None]]) -> None:
        self._app = app
        self._on_ended = ended
        self._sessions: OrderedDict[str, None] = OrderedDict()
        self._busy: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, and note which session it is of."""
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
        """Return what sends, and notes the session that an answer opens."""

        async def tracking_send(message: AsgiMessage) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                for session in RequestHeaders(message["headers"]).all_values(_SESSION_HEADER):
                    self._sessions[session] = None
            await send(message)

        return tracking_send

    async def _end_idlest_session(self, scope_template: Scope) -> None:
        """End a session as its client would."""
        oldest = next(iter(self._sessions))
        session = next((one for one in self._sessions if one not in self._busy), oldest)
        del self._sessions[session]
        headers = [(_SESSION_HEADER, session.encode()), (b"accept", b"application/json")]
        scope = {**scope_template, "method": "DELETE", "headers": headers}
        await self._on_ended(session)
        await self._app(scope, _empty_body, _discard_message)


async def _empty_body() -> AsgiMessage:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _discard_message(message: AsgiMessage) -> None:
    """Take an answer that nobody waits for."""
