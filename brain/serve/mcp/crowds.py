"""Room for everybody: bounds on sessions and connections that shut nobody out.

Where there are too many, the one that has been idle for longest ends, so that who holds
many open and says nothing makes room for those who ask.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from .guard import App, Headers, Message, Receive, Scope, Send

MAX_SESSIONS = 256
"""Sessions of the older revisions, each of which keeps something in memory."""
MAX_CONNECTIONS = 256
WAITING, READING, STREAMING, ANSWERING = range(4)
"""What a connection is in the midst of: a head, a body, a stream, an answer. In this order
they give way; an answer that is taken is never cut off, one that is not counts as a stream."""
_SESSION = b"mcp-session-id"


class Connection(Protocol):
    """A connection, as far as room is made of it."""

    transport: asyncio.Transport

    @property
    def midst(self) -> int:
        """What it is in the midst of."""

    @property
    def since(self) -> int:
        """A number that is greater for who came to that later."""


def make_room(connections: Iterable[Connection], newest: Connection) -> None:
    """Close one connection if there are too many: the idlest, or the newest if all are busy."""
    others = [one for one in connections if one is not newest and not one.transport.is_closing()]
    if len(others) < MAX_CONNECTIONS:
        return
    idle = [one for one in others if one.midst != ANSWERING]
    min(idle, key=lambda one: (one.midst, one.since), default=newest).transport.abort()


class Sessions:
    """An application that ends the idlest session where there are too many.

    Listening is no activity: a session is as old as its last message. `ended` is told of
    each that ends.
    """

    def __init__(self, app: App, ended: Callable[[str], Awaitable[None]]) -> None:
        self._app = app
        self._ended = ended
        self._known: OrderedDict[str, None] = OrderedDict()
        self._busy: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, and note which session it is of."""
        session = next(iter(Headers(scope["headers"]).all(_SESSION)), "")
        if scope["method"] == "DELETE" and session:
            self._known.pop(session, None)
            await self._ended(session)
        if scope["method"] == "POST" and session in self._known:
            await self._one(session, scope, receive, send)
        elif session:
            await self._app(scope, receive, send)
        else:
            await self._app(scope, receive, self._noting(send))
            while len(self._known) > MAX_SESSIONS:
                await self._end_idlest(scope)

    async def _one(self, session: str, scope: Scope, receive: Receive, send: Send) -> None:
        self._busy[session] += 1
        self._known.move_to_end(session)
        try:
            await self._app(scope, receive, send)
        finally:
            self._busy[session] -= 1
            if not self._busy[session]:
                del self._busy[session]
            if session in self._known:
                self._known.move_to_end(session)

    def _noting(self, send: Send) -> Send:
        """Return what sends, and notes the session that an answer opens."""

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                for session in Headers(message["headers"]).all(_SESSION):
                    self._known[session] = None
            await send(message)

        return noting

    async def _end_idlest(self, like: Scope) -> None:
        """End a session as its client would."""
        oldest = next(iter(self._known))
        session = next((one for one in self._known if one not in self._busy), oldest)
        del self._known[session]
        headers = [(_SESSION, session.encode()), (b"accept", b"application/json")]
        scope = {**like, "method": "DELETE", "headers": headers}
        await self._ended(session)
        await self._app(scope, _nothing_more, _unheard)


async def _nothing_more() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(message: Message) -> None:
    """Take an answer that nobody waits for."""
