"""The transport of one client that started this process: a message a line.

The SDK has one, which reads lines of any length and says nothing to what is not JSON.
This one bounds both, answers everything that expects an answer also when the client has
already closed its end, and never dies of a message.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.types import jsonrpc_message_adapter
from pydantic import ValidationError

from .lines import lines
from .messages import INVALID_REQUEST, MAX_BYTES, Refused, is_answer, parse, too_long

MAX_WAITING = 64
"""Requests taken in and not answered yet; further ones wait in the pipe."""
_LAST_ANSWERS = 60.0
"""Seconds that answers may take once the client has closed its end."""
_BROKEN = -32603
_UNENDING = "subscriptions/listen"

log = logging.getLogger(__name__)

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


class Pipes:
    """Two descriptors as the two streams that the SDK serves; to be used once, by `open`.

    `at_end` is called when the client has closed its end.
    """

    def __init__(self, read: int, write: int, at_end: Callable[[], None]) -> None:
        self._read = read
        self._write = write
        self._at_end = at_end
        self._writing = anyio.Lock()
        self._waiting: set[str | int] = set()
        self._answered = anyio.Event()
        self._gone: Callable[[], None] = _nothing

    @asynccontextmanager
    async def open(self) -> AsyncIterator[tuple[Incoming, Outgoing]]:
        """Serve until the client closes its end and has its answers."""
        to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group:
            self._gone = group.cancel_scope.cancel
            group.start_soon(self._take, to_server)
            group.start_soon(self._give, from_server)
            yield incoming, outgoing

    async def _take(self, to_server: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        queue, lines_in = anyio.create_memory_object_stream[bytes | None](0)
        token = anyio.lowlevel.current_token()
        # A daemon: it sits in a read that nothing can interrupt.
        threading.Thread(target=self._pump, args=(queue, token), daemon=True).start()
        async with to_server, lines_in:
            async for line in lines_in:
                if line is None or line.strip():
                    await self._one(line, to_server)
            self._at_end()
            with anyio.move_on_after(_LAST_ANSWERS):
                await self._until_answered(0)

    def _pump(self, queue: MemoryObjectSendStream[bytes | None], token: Any) -> None:
        def run(call: Any, *args: Any) -> Any:
            return anyio.from_thread.run(call, *args, token=token)

        try:
            for line in lines(self._read, MAX_BYTES):
                run(queue.send, line)
        except OSError as error:
            log.info("reading ended: %s", error.strerror)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, RuntimeError):
            return  # the server is gone
        try:
            run(queue.aclose)
        except RuntimeError:
            return

    async def _one(
        self, line: bytes | None, to_server: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        try:
            message = parse(line) if line is not None else {}
            if line is None:
                raise too_long()
            if is_answer(message):
                return
            known = _validated(message)
        except Refused as refused:
            await self._write_line(refused.answer())
            return
        expected = "id" in message and message["method"] != _UNENDING
        metadata = self._expect(message["id"]) if expected else None
        await to_server.send(SessionMessage(known, metadata))
        await self._until_answered(MAX_WAITING)

    def _expect(self, told: str | int) -> ServerMessageMetadata:
        """Wait for a request until it is answered, or never will be since it was cancelled."""

        async def unanswered() -> None:
            self._done(told)

        self._waiting.add(told)
        return ServerMessageMetadata(on_request_unanswered=unanswered)

    def _done(self, told: Any) -> None:
        self._waiting.discard(told)
        self._answered.set()

    async def _until_answered(self, most: int) -> None:
        while len(self._waiting) > most:
            self._answered = anyio.Event()
            await self._answered.wait()

    async def _give(self, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with from_server:
            async for item in from_server:
                told = getattr(item.message, "id", None)
                try:
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
                except ValueError:  # of pydantic, for text that UTF-8 cannot hold
                    text = Refused(_BROKEN, "the answer cannot be written", told).answer()
                await self._write_line(text)
                self._done(told)

    async def _write_line(self, text: bytes) -> None:
        async with self._writing:
            try:
                await anyio.to_thread.run_sync(_write_all, self._write, text + b"\n")
            except OSError as error:  # nobody reads any more
                log.info("writing ended: %s", error.strerror)
                self._gone()


def _nothing() -> None:
    """What is done before there is anything to do."""


def _validated(message: dict[str, Any]) -> Any:
    try:
        return jsonrpc_message_adapter.validate_python(message, by_name=False)
    except ValidationError:
        told = message.get("id")
        raise Refused(INVALID_REQUEST, "not a request or a notification", told) from None


def _write_all(handle: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]
