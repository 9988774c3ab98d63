"""A client of the SDK makes itself a tool, sees it appear, and calls it by its name."""

from itertools import count
from typing import Any
from unittest.mock import ANY

import anyio
import pytest
from mcp import Client
from mcp import types as wire

from brain import Brain
from brain.serve.mcp.brain_pool import BrainPool
from brain.serve.mcp.mcp_server import BrainServer
from brain.serve.tools import Toolbox
from tests.serving.test_server import ERAS, connected, text, within
from tests.support.acquired import CALLER, LIMITED, SLEEPER, creation

SECONDS = 30


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """A state folder of this test: what other tests tried does not run here."""
    monkeypatch.setenv("BRAIN_STATE_DIR", str(tmp_path / "state"))
    yield


async def names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


def test_a_client_of_before_2026_hears_that_its_new_tool_is_there(desk):
    async def session() -> None:
        changed = anyio.Event()

        async def hear(message: Any) -> None:
            if isinstance(message, wire.ToolListChangedNotification):
                changed.set()

        async with Client(BrainServer(desk).server, mode="legacy", message_handler=hear) as client:
            assert "create_skill" in await names(client)
            assert "count_words" not in await names(client)
            made = await client.call_tool("create_skill", creation("count_words"))
            assert not made.is_error, text(made)
            await changed.wait()
            assert "count_words" in await names(client)
            called = await client.call_tool("count_words", {"text": "a b"})
            assert text(called) == '{"words": 2}'

    within(SECONDS, session)


@pytest.mark.parametrize("era", ERAS)
def test_other_calls_are_answered_while_a_tool_sleeps_and_cancelling_ends_it(desk, era):
    async def session() -> None:
        async with connected(desk, era) as client:
            await make_sleeper(client)
            ended: list[str] = []
            async with anyio.create_task_group() as group:

                async def sleep() -> None:
                    try:
                        await client.call_tool("sleep", {"text": "sleep"})
                    finally:
                        ended.append("sleep")

                group.start_soon(sleep)
                await until_running(desk)
                for _ in range(3):
                    assert "oracle" in text(await client.call_tool("skills_list"))
                assert ended == []
                group.cancel_scope.cancel()
            await until_idle(desk)

    within(SECONDS, session)


async def make_sleeper(client: Client) -> None:
    made = await client.call_tool("create_skill", creation("sleep", SLEEPER))
    assert not made.is_error, text(made)


async def until_running(desk: BrainPool) -> None:
    while not any(client.open_calls for client in desk._clients.values()):
        await anyio.sleep(0.01)


async def until_idle(desk: BrainPool) -> None:
    while any(client.open_calls for client in desk._clients.values()):
        await anyio.sleep(0.01)


def test_a_tool_that_another_process_makes_appears(desk, folder):
    def make() -> None:
        with Brain.open(folder) as brain:
            Toolbox(brain).call("create_skill", creation("count_words"))

    async def session() -> None:
        async with connected(desk) as client, client.listen(tools_list_changed=True) as stream:
            before = await names(client)
            await anyio.to_thread.run_sync(make)
            async for _event in stream:
                break
            assert await names(client) - before == {"count_words"}

    within(SECONDS, session)


def test_reading_clients_call_tools_and_make_none(reading, folder):
    with Brain.open(folder) as brain:
        Toolbox(brain).call("create_skill", creation("count_words"))

    async def session() -> None:
        async with connected(reading) as client:
            assert await names(client) & {"create_skill", "count_words"} == {"count_words"}
            assert text(await client.call_tool("count_words", {"text": "a"})) == '{"words": 1}'
            refused = await client.call_tool("create_skill", creation("other"))
            assert refused.is_error and "reading only" in text(refused)

    within(SECONDS, session)


def test_what_one_session_proposes_no_other_has(proposing):
    async def session() -> None:
        server = BrainServer(proposing)
        async with connected(server, name="a") as one, connected(server, name="b") as other:
            made = await one.call_tool("create_skill", creation("count_words"))
            assert not made.is_error, text(made)
            assert "count_words" in await names(one)
            assert "count_words" not in await names(other)
            assert text(await one.call_tool("count_words", {"text": "a"})) == '{"words": 1}'

    within(SECONDS, session)


def test_a_tool_breaks_is_mended_and_the_worse_mend_is_rolled_back(desk, folder):
    """The whole story, as a client of the SDK sees it and as the lineage tells it."""
    texts = ({"text": f"{'w ' * 59}{number}"} for number in count())

    async def session() -> None:
        async with connected(desk, name="claude") as client:

            async def call(tool: str, given: dict[str, Any]) -> tuple[bool, str]:
                result = await client.call_tool(tool, given)
                return not result.is_error, text(result)

            assert await call("create_skill", creation("count_words")) == (True, ANY)
            for _ in range(6):
                assert await call("count_words", next(texts)) == (True, '{"words": 60}')
            worse = creation("count_words", LIMITED, description="Counts at most 40 words")
            assert await call("create_skill", worse) == (True, ANY)
            for _ in range(2):
                assert await call("count_words", next(texts)) == (False, ANY)
            ok, said = await call("count_words", next(texts))
            assert not ok and "ValueError: too many words" in said
            assert "version 1 did better, and is back as version 3" in said
            assert await call("count_words", next(texts)) == (True, '{"words": 60}')

    within(4 * SECONDS, session)
    desk.end_session("")
    with Brain.open(folder) as brain:
        verified = brain.verify(deep=True)
        assert verified.ok and not verified.findings
        kinds = [info.operation["kind"] for info in brain.history.log(skill="count-words")]
        assert kinds == ["reinstate", "admit", "admit"]
        steps = [
            (step["name"], step.get("version"))
            for info in brain.history.log(limit=3)
            for step in brain.receipts.show(info.snapshot).steps
            if step["kind"] == "tool"
        ]
        assert ("count_words", "2") in steps


def test_a_tool_calls_another_and_tells_its_progress(desk, folder):
    heard: list[tuple[float, str | None]] = []

    async def hear(share: float, total: float | None, message: str | None) -> None:
        assert total == 1.0
        heard.append((share, message))

    async def session() -> None:
        async with connected(desk) as client:
            for given in (creation("count_words"), creation("twice", CALLER)):
                made = await client.call_tool("create_skill", given)
                if made.is_error:  # a trial answers no calls
                    assert "twice" in given["name"], text(made)
            called = await client.call_tool("twice", {"text": "a b"}, progress_callback=hear)
            assert text(called) == '{"words": 2}', text(called)
            assert heard == [(0.5, "half")]

    within(SECONDS, session)
