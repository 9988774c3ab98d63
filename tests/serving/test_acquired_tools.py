"""A client of the SDK makes itself a tool, sees it appear, and calls it by its name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp import types as wire

from brain import Brain
from brain.serve.mcp.brain_pool import BrainPool
from brain.serve.mcp.mcp_server import BrainServer
from tests.serving.test_server import ERAS, connected, text, within
from tests.support.acquired import CHECK, COUNT_WORDS, SLEEPER, creation

SECONDS = 30


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A state folder of this test: what other tests tried does not run here."""
    monkeypatch.setenv("BRAIN_STATE_DIR", str(tmp_path / "state"))
    yield


async def names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


def test_a_client_of_before_2026_hears_that_its_new_tool_is_there(desk: BrainPool) -> None:
    async def session() -> None:
        changed = anyio.Event()

        async def hear(message: Any) -> None:
            if isinstance(message, wire.ToolListChangedNotification):
                changed.set()

        async with Client(
            BrainServer(desk).server, mode="legacy", message_handler=hear
        ) as client:
            assert "create_skill" in await names(client)
            assert "count_words" not in await names(client)
            made = await client.call_tool("create_skill", creation("count_words", COUNT_WORDS))
            assert not made.is_error, text(made)
            await changed.wait()
            assert "count_words" in await names(client)
            called = await client.call_tool("count_words", {"text": "a b"})
            assert text(called) == '{"words": 2}'

    within(SECONDS, session)
