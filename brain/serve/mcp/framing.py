"""HTTP as bytes: heads of requests have to be well formed, small, and to come in time."""

from __future__ import annotations

import asyncio
import re
from itertools import count
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from . import crowds

HEAD_BYTES = 32 << 10
"""Size of the head of a request."""
HEAD_SECONDS = 10.0
"""How long the head of a request may take."""
_ORDER = count()
_END = b"\r\n\r\n"
_BARE = re.compile(rb"(?<!\r)\n|\r(?!\n|\Z)|\0")


class StrictProtocol(H11Protocol):
    """A connection; what the parser would forgive and a proxy read otherwise is refused."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None
        self._last = b""
        self._size = 0
        self.since = next(_ORDER)

    @property
    def midst(self) -> int:
        """What the connection is in the midst of, as `crowds` says it."""
        if self.cycle is None or self.cycle.response_complete:
            return crowds.WAITING
        if self.cycle.more_body:
            return crowds.READING
        streams = self.scope["method"] == "GET" and self.cycle.response_started
        unread = self.flow.write_paused  # who takes nothing of an answer waits for none
        return crowds.STREAMING if streams or unread else crowds.ANSWERING

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first head; if there are too many, the idlest ends."""
        super().connection_made(transport)
        crowds.make_room(cast("set[StrictProtocol]", self.connections), self)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._head_is_there()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in bytes, those of a head after a look at them."""
        if self.conn.their_state is h11.IDLE and (fault := self._fault(data)):
            self._refuse(fault)
            return
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._await_head()
        else:
            self.since = next(_ORDER)
            self._head_is_there()

    def on_response_complete(self) -> None:
        """Go on with the next head if it came right behind the last request, or hang up."""
        if self.conn.their_state is h11.DONE and self._fault(self.conn.trailing_data[0]):
            self.transport.close()
        super().on_response_complete()
        self.since = next(_ORDER)
        if self.conn.their_state is not h11.IDLE:
            self._head_is_there()

    def _fault(self, data: bytes) -> str:
        """Return what is wrong with a head as far as it came with its next piece, "" for nothing.

        The parser bounds only heads that are not there as a whole.
        """
        head, end, _ = (self._last + data).partition(_END)
        self._size += len(head) - len(self._last)
        seen = max(len(self._last) - 1, 0)  # of the last byte only what follows tells
        self._last = head[1 - len(_END) :] if not end else b""
        if self._size > HEAD_BYTES:
            return "The head is too long."
        return "Line ends must be CRLF." if _BARE.search(head + end, seen) else ""

    def _await_head(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self._too_slow)

    def _head_is_there(self) -> None:
        self._last, self._size = b"", 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        if not self.transport.is_closing() and self.conn.their_state is h11.IDLE:
            self.transport.write(b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\n\r\n")
            self.transport.close()

    def _refuse(self, reason: str) -> None:
        self._head_is_there()
        if not self.transport.is_closing():
            self.send_400_response(reason)
