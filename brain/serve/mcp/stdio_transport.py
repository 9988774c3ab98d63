"""The stdio transport: one client, one JSON-RPC message a line, bounded in size.

Instead of the SDK's `stdio_server`, which has no limit on the length of a line, none on
requests in progress, no reply to invalid JSON, and no answers after the client closed its
end (docs/adr/0018).
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.types import jsonrpc_message_adapter
from pydantic import ValidationError

from .jsonrpc import (
    INVALID_REQUEST,
    MAX_REQUEST_BYTES,
    MessageRefused,
    is_response,
    parse_message,
    too_long_error,
)

MAX_PENDING_REQUESTS = 64
"""Unanswered requests; further ones wait in the pipe."""
_LAST_ANSWER_SECONDS = 60.0
"""Seconds that answers may take after the client closed its end."""
_INTERNAL_ERROR = -32603
_STREAMING_METHOD = "subscriptions/listen"

log = logging.getLogger(__name__)

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


class StdioTransport:
    """Makes the two streams that the SDK serves of two descriptors; for one use, by `open`.

    `at_end` is called when the client closes its end.
    """

    def __init__(self, read: int, write: int, at_end: Callable[[], None]) -> None:
        self._read = read
        self._write = write
        self._at_end = at_end
        self._write_lock = anyio.Lock()
        self._pending: set[str | int] = set()
        self._answered = anyio.Event()
        self._cancel: Callable[[], None] = _do_nothing

    @asynccontextmanager
    async def open(self) -> AsyncIterator[tuple[Incoming, Outgoing]]:
        """Serve until the client closes its end and has its answers."""
        to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group:
            self._cancel = group.cancel_scope.cancel
            group.start_soon(self._receive, to_server)
            group.start_soon(self._send, from_server)
            yield incoming, outgoing

    async def _receive(self, to_server: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        queue, lines_in = anyio.create_memory_object_stream[bytes | None](0)
        token = anyio.lowlevel.current_token()
        # A daemon: nothing can interrupt its blocking read.
        threading.Thread(
            target=self._read_lines_in_thread, args=(queue, token), daemon=True
        ).start()
        async with to_server, lines_in:
            async for line in lines_in:
                if line is None or line.strip():
                    await self._receive_line(line, to_server)
            self._at_end()
            with anyio.move_on_after(_LAST_ANSWER_SECONDS):
                await self._wait_for_answers(0)

    def _read_lines_in_thread(
        self, queue: MemoryObjectSendStream[bytes | None], token: Any
    ) -> None:
        def run_in_loop(call: Any, *args: Any) -> Any:
            return anyio.from_thread.run(call, *args, token=token)

        try:
            for line in read_lines(self._read, MAX_REQUEST_BYTES):
                run_in_loop(queue.send, line)
        except OSError as error:
            log.info("reading ended: %s", error.strerror)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, RuntimeError):
            return  # the server has ended
        try:
            run_in_loop(queue.aclose)
        except RuntimeError:
            return

    async def _receive_line(
        self, line: bytes | None, to_server: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        try:
            message = parse_message(line) if line is not None else {}
            if line is None:
                raise too_long_error()
            if is_response(message):
                return
            validated = _validate_message(message)
        except MessageRefused as refused:
            await self._write_line(refused.error_response())
            return
        expected = "id" in message and message["method"] != _STREAMING_METHOD
        metadata = self._track_request(message["id"]) if expected else None
        await to_server.send(SessionMessage(validated, metadata))
        await self._wait_for_answers(MAX_PENDING_REQUESTS)

    def _track_request(self, request_id: str | int) -> ServerMessageMetadata:
        """Count a request as pending until it is answered or cancelled."""

        async def unanswered() -> None:
            self._mark_answered(request_id)

        self._pending.add(request_id)
        return ServerMessageMetadata(on_request_unanswered=unanswered)

    def _mark_answered(self, request_id: Any) -> None:
        self._pending.discard(request_id)
        self._answered.set()

    async def _wait_for_answers(self, max_pending: int) -> None:
        while len(self._pending) > max_pending:
            self._answered = anyio.Event()
            await self._answered.wait()

    async def _send(self, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with from_server:
            async for item in from_server:
                request_id = getattr(item.message, "id", None)
                try:
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
                except ValueError:  # of pydantic, for text that UTF-8 cannot encode
                    text = MessageRefused(
                        _INTERNAL_ERROR, "the answer cannot be encoded", request_id
                    ).error_response()
                await self._write_line(text)
                self._mark_answered(request_id)

    async def _write_line(self, text: bytes) -> None:
        async with self._write_lock:
            try:
                await anyio.to_thread.run_sync(_write_all, self._write, text + b"\n")
            except OSError as error:  # the client closed its end
                log.info("writing ended: %s", error.strerror)
                self._cancel()


def _do_nothing() -> None:
    """Cancel nothing: the transport is not open yet."""


def _validate_message(message: dict[str, Any]) -> Any:
    try:
        return jsonrpc_message_adapter.validate_python(message, by_name=False)
    except ValidationError:
        request_id = message.get("id")
        raise MessageRefused(
            INVALID_REQUEST, "not a request or a notification", request_id
        ) from None


def _write_all(handle: int, data: bytes) -> None:
    unwritten = memoryview(data)
    while unwritten:
        unwritten = unwritten[os.write(handle, unwritten) :]


_READ_BYTES = 1 << 16


def read_lines(handle: int, limit: int) -> Iterator[bytes | None]:
    """Yield each line without its end, None for a line of more than `limit` bytes.

    Blocks. Memory stays below about twice the limit. A last line without an end counts.
    Raises `OSError`.
    """
    parts: list[bytes] = []
    size = 0
    over = False
    while chunk := os.read(handle, _READ_BYTES):
        *ends, line_start = chunk.split(b"\n")
        for end in ends:
            if over or size + len(end) > limit:
                yield None
            else:
                yield b"".join((*parts, end)).removesuffix(b"\r")
            parts, size, over = [], 0, False
        size += len(line_start)
        if size > limit:
            parts, over = [], True
        elif line_start:
            parts.append(line_start)
    if over:
        yield None
    elif parts:
        yield b"".join(parts)
