"""The SDK's stdio transport on two descriptors: bounded lines, and every answer before the end.

What the SDK leaves open is closed here: a line may have any length, what is no message gets no
answer, and a client that closes its end loses the answers that it waits for.
"""

from __future__ import annotations

import os
import signal
import stat
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.runner import serve_dual_era_loop
from mcp.server.stdio import stdio_server
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCRequest,
    JSONRPCResponse,
)
from pydantic import ValidationError

if TYPE_CHECKING:
    from .brain_pool import BrainPool

MAX_MESSAGE_BYTES = 16 << 20
"""Size of one message. A skill has at most 4 MB, which JSON may double."""
MAX_PENDING_REQUESTS = 64
"""Unanswered requests; further ones wait in the pipe."""
_LAST_ANSWER_SECONDS = 60.0
"""Seconds that answers may take after the client closed its end."""
_STREAMING_METHOD = "subscriptions/listen"
_READ_BYTES = 1 << 16
_WRITE_BYTES = 4096
"""POSIX: a pipe that is ready takes so many without blocking."""

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


class _InputLines:
    """The lines of a descriptor, as the SDK reads a text file; a longer one becomes none."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._is_file = stat.S_ISREG(os.fstat(fd).st_mode)

    async def __aiter__(self) -> AsyncIterator[str]:
        line = bytearray()
        while chunk := await self._read():
            *ends, rest = chunk.split(b"\n")
            for end in ends:
                line += end
                if line.strip():
                    yield _decode(line)
                line.clear()
            if len(line) <= MAX_MESSAGE_BYTES:
                line += rest
        if line.strip():
            yield _decode(line)

    async def _read(self) -> bytes:
        try:
            if not self._is_file:
                with suppress(PermissionError):  # what epoll cannot wait for never blocks
                    await anyio.wait_readable(self._fd)
            return os.read(self._fd, _READ_BYTES)
        except OSError:  # a terminal or a socket that is gone
            return b""


def _decode(line: bytearray) -> str:
    return line.decode(errors="surrogateescape") if len(line) <= MAX_MESSAGE_BYTES else "too long"


class _OutputPipe:
    """A descriptor, as the SDK writes to a text file; `at_end` is called if nobody reads it."""

    def __init__(self, fd: int, at_end: Callable[[], None]) -> None:
        self._fd = fd
        self._at_end = at_end
        self._lock = anyio.Lock()

    async def write(self, text: str) -> None:
        unwritten = memoryview(text.encode(errors="replace"))
        async with self._lock:
            try:
                while unwritten:
                    with suppress(PermissionError):
                        await anyio.wait_writable(self._fd)
                    unwritten = unwritten[os.write(self._fd, unwritten[:_WRITE_BYTES]) :]
            except OSError:
                self._at_end()

    async def flush(self) -> None:
        """Do nothing: what is written is not buffered."""


@asynccontextmanager
async def open_stdio(
    read: int, write: int, at_end: Callable[[], None]
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Yield the streams that the SDK serves, of one client; both end with the client.

    `at_end` is called when the client closes its end.
    """
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as group:
        pipe = _OutputPipe(write, group.cancel_scope.cancel)
        files: Any = _InputLines(read), pipe
        async with (
            stdio_server(*files) as (lines, answers),
            lines,
            answers,
            incoming,
            outgoing,
        ):
            relay = _Relay(cast(Outgoing, answers))
            group.start_soon(relay.send_answers, from_server)
            group.start_soon(relay.take_messages, cast(Incoming, lines), to_server, at_end)
            yield incoming, outgoing
            group.cancel_scope.cancel()


class _Relay:
    """Passes messages on, and counts the requests that have no answer yet."""

    def __init__(self, answers: Outgoing) -> None:
        self._answers = answers
        self._pending = 0
        self._answered = anyio.Event()

    async def take_messages(
        self,
        lines: Incoming,
        to_server: MemoryObjectSendStream[SessionMessage | Exception],
        at_end: Callable[[], None],
    ) -> None:
        async with to_server:
            async for item in lines:
                if isinstance(item, Exception):
                    await self._answers.send(SessionMessage(_refusal(item)))
                    continue
                message = item.message
                metadata = None
                if isinstance(message, JSONRPCRequest) and message.method != _STREAMING_METHOD:
                    self._pending += 1
                    metadata = ServerMessageMetadata(on_request_unanswered=self._count_answer)
                await to_server.send(SessionMessage(message, metadata))
                await self._wait_for_answers(MAX_PENDING_REQUESTS)
            at_end()
            with anyio.move_on_after(_LAST_ANSWER_SECONDS):
                await self._wait_for_answers(0)

    async def send_answers(self, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with from_server:
            async for item in from_server:
                await self._answers.send(item)
                if isinstance(item.message, (JSONRPCResponse, JSONRPCError)):
                    await self._count_answer()

    async def _count_answer(self) -> None:
        self._pending -= 1
        self._answered.set()

    async def _wait_for_answers(self, max_pending: int) -> None:
        while self._pending > max_pending:
            self._answered = anyio.Event()
            await self._answered.wait()


def _refusal(error: Exception) -> JSONRPCError:
    """Return the answer to what is no message (JSON-RPC 2.0, 5.1)."""
    is_json = isinstance(error, ValidationError) and all(
        found["type"] != "json_invalid" for found in error.errors(include_input=False)
    )
    reason = f"this is no message: JSON-RPC 2.0, at most {MAX_MESSAGE_BYTES >> 20} MB on one line"
    code = INVALID_REQUEST if is_json else PARSE_ERROR
    return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=reason))


def serve_pipes(pool: BrainPool, read: int, write: int) -> None:
    """Serve one client: read its messages from `read`, write answers to `write`.

    Returns when the client closes its end. A signal ends the server, too, and is raised
    again. Nothing else may write to `write`.
    """
    from .mcp_server import BrainServer

    server = BrainServer(pool)

    async def serve() -> None:
        async with (
            open_stdio(read, write, server.end_streams) as (incoming, outgoing),
            server.server.lifespan(server.server) as state,
        ):
            await serve_dual_era_loop(server.server, incoming, outgoing, lifespan_state=state)

    anyio.run(run_until_signal, serve, None)


async def run_until_signal(
    serve: Callable[[], Awaitable[None]], stop: Callable[[], None] | None
) -> None:
    """Run `serve`; a signal calls `stop`, or else cancels it, and is raised again at the end."""
    received: list[int] = []

    async def watch(scope: anyio.CancelScope) -> None:
        with anyio.open_signal_receiver(*before) as signals:
            async for number in signals:
                received.append(number)
                (stop or scope.cancel)()

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    async with anyio.create_task_group() as group:
        if threading.current_thread() is threading.main_thread():
            group.start_soon(watch, group.cancel_scope)
        await serve()
        group.cancel_scope.cancel()
    if received:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.raise_signal(received[0])
