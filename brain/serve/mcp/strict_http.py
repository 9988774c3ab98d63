"""A uvicorn protocol that refuses malformed, large or slow request heads."""

from __future__ import annotations

import asyncio
import re
from itertools import count
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from . import connection_limits

MAX_HEAD_BYTES = 32 << 10
"""Size of the head of a request."""
MAX_HEAD_SECONDS = 10.0
"""Seconds in which the head of a request must arrive."""
_ACTIVITY_COUNTER = count()
_HEAD_END = b"\r\n\r\n"
_BARE_LINE_END = re.compile(rb"(?<!\r)\n|\r(?!\n|\Z)|\0")


class StrictHttpProtocol(H11Protocol):
    """A connection that refuses heads which its parser accepts and a proxy may read differently."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None
        self._head_tail = b""
        self._head_size = 0
        self.active_since = next(_ACTIVITY_COUNTER)

    @property
    def activity(self) -> int:
        """The activity, as `connection_limits` defines it."""
        if self.cycle is None or self.cycle.response_complete:
            return connection_limits.WAITING
        if self.cycle.more_body:
            return connection_limits.READING
        streams = self.scope["method"] == "GET" and self.cycle.response_started
        unread = self.flow.write_paused  # the client does not read its answer
        return connection_limits.STREAMING if streams or unread else connection_limits.ANSWERING

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first head; close the idlest connection if there are too many."""
        super().connection_made(transport)
        connection_limits.close_idlest_connection(
            cast("set[StrictHttpProtocol]", self.connections), self
        )
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_head_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Check bytes of a head, then pass all bytes on."""
        if self.conn.their_state is h11.IDLE and (fault := self._head_fault(data)):
            self._refuse(fault)
            return
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._start_head_timer()
        else:
            self.active_since = next(_ACTIVITY_COUNTER)
            self._stop_head_timer()

    def on_response_complete(self) -> None:
        """Check the head of a pipelined request; close the connection if it is faulty."""
        if self.conn.their_state is h11.DONE and self._head_fault(self.conn.trailing_data[0]):
            self.transport.close()
        super().on_response_complete()
        self.active_since = next(_ACTIVITY_COUNTER)
        if self.conn.their_state is not h11.IDLE:
            self._stop_head_timer()

    def _head_fault(self, data: bytes) -> str:
        """Return the fault of a head up to and including its next piece `data`, "" if none.

        The parser itself limits only heads that arrive in pieces.
        """
        head, end, _ = (self._head_tail + data).partition(_HEAD_END)
        self._head_size += len(head) - len(self._head_tail)
        checked_bytes = max(len(self._head_tail) - 1, 0)  # the last byte is judged by the next one
        self._head_tail = head[1 - len(_HEAD_END) :] if not end else b""
        if self._head_size > MAX_HEAD_BYTES:
            return "The head is too long."
        return "Line ends must be CRLF." if _BARE_LINE_END.search(head + end, checked_bytes) else ""

    def _start_head_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(MAX_HEAD_SECONDS, self._time_out_head)

    def _stop_head_timer(self) -> None:
        self._head_tail, self._head_size = b"", 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out_head(self) -> None:
        self._timer = None
        if not self.transport.is_closing() and self.conn.their_state is h11.IDLE:
            self.transport.write(b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\n\r\n")
            self.transport.close()

    def _refuse(self, reason: str) -> None:
        self._stop_head_timer()
        if not self.transport.is_closing():
            self.send_400_response(reason)
