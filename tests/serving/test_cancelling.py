"""Calls that a client takes back, at a server on pipes in this process."""

import json
import os
import select
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brain import Brain
from brain.serve.mcp import stdio
from brain.serve.mcp.brain_pool import READ_MODE, BrainPool, ToolResult
from tests.support.mcp_peers import INITIALIZE_PARAMS, encode_request
from tests.support.processes import TIMEOUT_SECONDS


class Busy(BrainPool):
    """A desk that carries out no call until it is told to."""

    def __init__(self, folder: Path) -> None:
        super().__init__(lambda author: Brain.open(folder, author=author), READ_MODE)
        self.free = threading.Event()

    def call(
        self, client: str, name: str, given: Mapping[str, Any], session: str = ""
    ) -> ToolResult:
        assert self.free.wait(TIMEOUT_SECONDS)
        return super().call(client, name, given, session)


def lines_until(handle: int, wanted: object) -> list[dict[str, Any]]:
    """Return what is answered until the request with the id `wanted` is."""
    data = b""
    while not data.endswith(b"\n") or json.loads(data.splitlines()[-1]).get("id") != wanted:
        assert select.select([handle], [], [], TIMEOUT_SECONDS)[0], data
        piece = os.read(handle, 1 << 16)
        assert piece, data
        data += piece
    return [json.loads(line) for line in data.splitlines()]


def test_what_is_cancelled_is_neither_answered_nor_waited_for(folder, monkeypatch):
    monkeypatch.setattr(stdio, "_LAST_ANSWER_SECONDS", 10 * TIMEOUT_SECONDS)
    desk = Busy(folder)
    read, to_server = os.pipe()
    from_server, write = os.pipe()
    server = threading.Thread(target=stdio.serve_pipes, args=(desk, read, write), daemon=True)
    server.start()
    taken_back = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}'
    lines = [encode_request("initialize", id="hello", **INITIALIZE_PARAMS)]
    for number in range(2 * stdio.MAX_PENDING_REQUESTS):
        lines += [encode_request("tools/call", id=number, name="skills_list"), taken_back % number]
    lines += [encode_request("ping", id="last"), b""]
    os.write(to_server, b"\n".join(lines))
    assert [line["id"] for line in lines_until(from_server, "last")] == ["hello", "last"]
    os.close(to_server)
    desk.free.set()
    server.join(TIMEOUT_SECONDS)
    assert not server.is_alive()
    os.close(write)
    assert os.read(from_server, 1) == b""
    os.close(from_server)
    os.close(read)
    desk.close()
