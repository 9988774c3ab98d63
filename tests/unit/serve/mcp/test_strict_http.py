"""Requests as pieces, handed to the protocol without a socket, which would join them again."""

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest
from uvicorn.config import Config
from uvicorn.server import ServerState

from brain.serve.mcp import connection_limits
from brain.serve.mcp.strict_http import StrictHttpProtocol

BODY = json.dumps({"lines": "end in LF"}, indent=1).encode()
HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(BODY)
BROKEN = [
    HEAD.replace(b"\r\n\r\n", b"\r\n\n"),
    HEAD.replace(b"\r\n\r\n", b"\n\r\n"),
    HEAD.replace(b"Host", b"X: a\nHost"),
    HEAD.replace(b"Host", b"X: a\rHost"),
    HEAD.replace(b"Host", b"X: \0\r\nHost"),
]


class Recorder(asyncio.Transport):
    """The other end, as far as the protocol sees it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def write(self, data: Any) -> None:
        self.written += data

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


def taken(pieces: Iterable[bytes]) -> tuple[bytes, bytes]:
    """Return the body that an application gets of a request in pieces, and what is answered."""
    bodies: list[bytes] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        bodies.append(body)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def connection() -> Recorder:
        config = Config(application, log_config=None, lifespan="off", ws="none", interface="asgi3")
        state = ServerState()
        protocol = StrictHttpProtocol(config=config, server_state=state, app_state={})
        transport = Recorder()
        protocol.connection_made(transport)
        for piece in pieces:
            if not transport.closed:
                protocol.data_received(piece)
        await asyncio.gather(*state.tasks)
        protocol.connection_lost(None)
        return transport

    transport = asyncio.run(connection())
    return b"".join(bodies), transport.written


def cuts(whole: bytes) -> Iterable[list[bytes]]:
    yield from ([whole[:at], whole[at:]] for at in range(1, len(whole)))
    yield [bytes([byte]) for byte in whole]


def test_a_request_is_taken_wherever_it_is_cut():
    for pieces in cuts(HEAD + BODY):
        body, answer = taken(pieces)
        assert body == BODY and answer.startswith(b"HTTP/1.1 204 "), pieces


@pytest.mark.parametrize("head", BROKEN)
def test_a_broken_head_is_refused_wherever_it_is_cut(head):
    for pieces in cuts(head + BODY):
        body, answer = taken(pieces)
        assert body == b"" and answer.startswith(b"HTTP/1.1 400 "), pieces


def test_what_a_connection_is_in_the_midst_of_says_when_it_gives_way():
    seen: list[int] = []

    async def connection() -> None:
        async def application(scope: Any, receive: Any, send: Any) -> None:
            seen.append(protocol.activity)
            while (await receive())["more_body"]:
                pass
            seen.append(protocol.activity)
            protocol.pause_writing()
            seen.append(protocol.activity)
            protocol.resume_writing()
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body"})

        config = Config(application, log_config=None, lifespan="off", ws="none", interface="asgi3")
        state = ServerState()
        protocol = StrictHttpProtocol(config, state, {}, asyncio.get_running_loop())
        protocol.connection_made(Recorder())
        seen.append(protocol.activity)
        protocol.data_received(HEAD)
        await asyncio.sleep(0)
        protocol.data_received(BODY)
        await asyncio.gather(*state.tasks)
        seen.append(protocol.activity)
        protocol.connection_lost(None)

    asyncio.run(connection())
    assert seen == [
        connection_limits.WAITING,
        connection_limits.READING,
        connection_limits.ANSWERING,
        connection_limits.STREAMING,
        connection_limits.WAITING,
    ]
