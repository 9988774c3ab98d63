"""Calls that a client takes back, at a server on pipes in this process."""

from __future__ import annotations

import json
import os
import select
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from brain import Brain
from brain.serve.mcp import running, stdio
from brain.serve.mcp.desk import READS, Answer, Desk
from tests.patience import PATIENCE

from .peers import INITIALIZE, request


class Busy(Desk):
    """A desk that carries out no call until it is told to."""

    def __init__(self, folder: Path) -> None:
        super().__init__(lambda author: Brain.open(folder, author=author), READS)
        self.free = threading.Event()

    def call(self, client: str, name: str, given: Mapping[str, Any], session: str = "") -> Answer:
        assert self.free.wait(PATIENCE)
        return super().call(client, name, given, session)


def lines_until(handle: int, wanted: object) -> list[dict[str, Any]]:
    """Return what is answered until the request with the id `wanted` is."""
    data = b""
    while not data.endswith(b"\n") or json.loads(data.splitlines()[-1]).get("id") != wanted:
        assert select.select([handle], [], [], PATIENCE)[0], data
        piece = os.read(handle, 1 << 16)
        assert piece, data
        data += piece
    return [json.loads(line) for line in data.splitlines()]


def test_what_is_cancelled_is_neither_answered_nor_waited_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "_LAST_ANSWERS", 10 * PATIENCE)
    desk = Busy(folder)
    read, to_server = os.pipe()
    from_server, write = os.pipe()
    server = threading.Thread(target=running.serve_pipes, args=(desk, read, write), daemon=True)
    server.start()
    taken_back = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}'
    lines = [request("initialize", id="hello", **INITIALIZE)]
    for number in range(2 * stdio.MAX_WAITING):
        lines += [request("tools/call", id=number, name="skills_list"), taken_back % number]
    lines += [request("ping", id="last"), b""]
    os.write(to_server, b"\n".join(lines))
    assert [line["id"] for line in lines_until(from_server, "last")] == ["hello", "last"]
    os.close(to_server)
    desk.free.set()
    server.join(PATIENCE)
    assert not server.is_alive()
    os.close(write)
    assert os.read(from_server, 1) == b""
    os.close(from_server)
    os.close(read)
    desk.close()
