"""A program that an agent proposes runs for nobody else before a person accepted it."""

from __future__ import annotations

from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import Implementation

from brain import Brain
from brain.errors import Conflict, ToolFailure
from brain.serve.mcp.brain_pool import MAX_CLIENTS, PROPOSE_MODE, WRITE_MODE, BrainPool
from brain.serve.mcp.mcp_server import BrainServer
from brain.serve.tools import Toolbox
from tests.cli.conftest import cli, keys
from tests.serving.test_server import connected, text, within
from tests.support.acquired import COUNT_WORDS, LIMITED, creation
from tests.support.mcp_peers import HttpServer
from tests.support.refusals import raises_code

__all__ = ["cli", "keys"]

SECONDS = 60
TEXT = {"text": "a b"}
LONG = {"text": "w " * 60}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A brain; its folder, which is current, with a state folder of its own."""
    monkeypatch.setenv("BRAIN_STATE_DIR", str(tmp_path / "state"))
    Brain.init(tmp_path / "agent", author="ada").close()
    monkeypatch.chdir(tmp_path / "agent")
    return tmp_path / "agent"


@pytest.fixture(params=["", "team"], ids=["own proposals", "one proposal"])
def approving(folder, request):
    """What `brain mcp --approve` serves, without and with --proposal."""
    pool = BrainPool(
        lambda author: Brain.open(folder, author=author), PROPOSE_MODE, proposal=request.param
    )
    yield pool
    pool.close()


async def names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


def test_others_have_a_program_only_once_a_person_accepted_it(folder, approving, cli):
    person = BrainPool(lambda author: Brain.open(folder, author=author), WRITE_MODE)
    proposal = ""

    async def before() -> None:
        nonlocal proposal
        server = BrainServer(approving)
        async with connected(server, name="a") as one, connected(server, name="b") as other:
            answer = text(await one.call_tool("create_skill", creation("count_words")))
            assert "count_words is proposed as version 1" in answer and "admitted" not in answer
            with Brain.open(folder) as brain:
                (found,) = brain.proposals.list()
                assert f"proposed, as {found.name}:" in answer
                proposal = found.name
            assert text(await one.call_tool("count_words", TEXT)) == '{"words": 2}'
            assert "count_words" not in await names(other)
            assert (await other.call_tool("count_words", TEXT)).is_error
        async with connected(person) as third:
            assert "count_words" not in await names(third)
            assert (await third.call_tool("count_words", TEXT)).is_error

    async def after() -> None:
        async with connected(person) as third:
            assert text(await third.call_tool("count_words", TEXT)) == '{"words": 2}'
        async with connected(approving, name="c") as fourth:
            assert "count_words" in await names(fourth)
            assert text(await fourth.call_tool("count_words", TEXT)) == '{"words": 2}'

    within(SECONDS, before)
    with Brain.open(folder) as brain:
        assert brain.programs.list() == [] and not brain.programs.stats().skills
        with brain.proposals.open(proposal) as opened:
            assert [row.status for row in opened.programs.list()] == ["proposed"]
            with raises_code("not_admitted", Conflict):
                opened.programs.run("count-words", TEXT)
    shown = cli("proposal", "show", proposal)
    said = "Program count-words@1 will run once this is accepted; admitted by its tests: 1 case, "
    assert said in shown.out and "stubs killed, " in shown.out
    document = cli("--json", "proposal", "show", proposal).document
    (program,) = document["programs"]
    assert (program["slug"], program["status"]) == ("count-words", "runnable")
    verdict = program["decision"]["verdict"]
    assert verdict["decision"] == "admit" and verdict["sandbox"]
    assert {case["outcome"] for case in verdict["cases"]} == {"pass"}
    accepted = document["snapshot"]
    assert cli("--author", "eve", "proposal", "accept", accepted).status == 0
    within(SECONDS, after)
    person.close()


def test_a_session_runs_what_it_made_however_many_others_came_since(approving):
    made = creation("count_words")
    approving.call("claude", "create_skill", made, session="first")
    for number in range(MAX_CLIENTS + 1):
        fact = {"action": "add", "target": "memory", "content": f"Fact {number}"}
        approving.call("claude", "memory", fact, session=f"session {number}")
    assert approving.call("claude", "count_words", TEXT, session="first").text == '{"words": 2}'
    assert "count_words" in {tool.name for tool in approving.list_tools("claude", "first")}
    with pytest.raises(ToolFailure):
        approving.call("claude", "count_words", TEXT, session="session 0")


def change_code(tools: Toolbox) -> str:
    given: dict[str, Any] = {
        "action": "write_file",
        "name": "count-words",
        "file_path": "skill.py",
        "file_content": COUNT_WORDS.replace("words", "number"),
    }
    return tools.call("skill_manage", given).text


def improve(tools: Toolbox) -> str:
    return tools.call("create_skill", creation("count_words", LIMITED)).text


def improve_by_other_name(tools: Toolbox) -> str:
    given = creation("count_words", LIMITED)
    given["code"] = given.pop("python_code")
    return tools.call("skill_manager", {"action": "create", **given}).text


def delete(tools: Toolbox) -> str:
    return tools.call("manage_skills", {"action": "delete", "name": "count_words"}).text


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (improve, "runnable"),
        (improve_by_other_name, "runnable"),
        (change_code, "not_admitted"),
        (delete, ""),
    ],
)
def test_what_is_proposed_about_a_program_leaves_the_one_that_runs_alone(folder, change, status):
    with Brain.open(folder, author="ada") as brain:
        Toolbox(brain).call("create_skill", creation("count_words"))
        admitted = brain.programs.list_runnable()
        with brain.proposals.open("claude-1a2b3c", author="claude") as proposal:
            said = change(Toolbox(proposal))
            assert "proposed, as claude-1a2b3c:" in said and "admitted" not in said
            if status == "runnable":
                for _ in range(4):
                    assert not proposal.programs.run("count-words", LONG).ok
        assert brain.programs.list_runnable() == admitted
        assert brain.programs.run("count-words", LONG).output == {"words": 60}
        assert [row.failures for row in brain.programs.stats().skills] == [0]
        programs = brain.proposals.programs("claude")
        assert [row.status for row in programs] == [status] * bool(status)
        brain_of_eve = Brain.open(folder, author="eve")
        brain_of_eve.proposals.accept(brain.proposals.show("claude").snapshot)
        brain_of_eve.close()
        runs = [row.slug for row in brain.programs.list_runnable()]
        assert runs == ["count-words"] * (status == "runnable")


def test_a_program_that_both_changed_does_not_run_untried(folder, cli):
    with Brain.open(folder, author="ada") as brain:
        Toolbox(brain).call("create_skill", creation("count_words"))
        with brain.proposals.open("claude-1a2b3c", author="claude") as proposal:
            improve(Toolbox(proposal))
        change_code(Toolbox(brain))
        assert [row.status for row in brain.proposals.programs("claude")] == ["changed"]
    assert "will not run: it was changed here" in cli("proposal", "show", "claude").out


def test_clients_over_http_that_cannot_be_told_apart_run_nothing_that_is_proposed(folder):
    """Without sessions, as the revision of 2026 has it, anybody may call themselves claude."""

    async def call(url: str, token: str, name: str, given: dict[str, Any]) -> tuple[bool, str]:
        claude = Implementation(name="claude", version="1")
        async with (
            httpx2.AsyncClient(
                headers={"Authorization": f"Bearer {token}"}, timeout=SECONDS
            ) as http,
            Client(streamable_http_client(url, http_client=http), client_info=claude) as client,
        ):
            result = await client.call_tool(name, given)
            return not result.is_error, text(result)

    with HttpServer(folder, "--approve") as server:
        ok, said = anyio.run(
            call, server.url, server.token, "create_skill", creation("count_words")
        )
        assert ok and "is proposed" in said and "Call count_words" not in said
        assert not anyio.run(call, server.url, server.token, "count_words", TEXT)[0]


def test_a_client_that_only_proposes_retires_nothing_by_failing(folder):
    with Brain.open(folder, author="ada") as brain:
        Toolbox(brain).call("create_skill", creation("count_words", LIMITED))
        with brain.proposals.open("claude-1a2b3c", author="claude") as proposal:
            for number in range(5):
                payload = {"text": f"{LONG['text']}{number}"}
                assert not proposal.programs.run("count-words", payload).ok
        (row,) = brain.programs.stats().skills
        assert (row.uses, row.failures) == (5, 0)
        run = brain.programs.run("count-words", LONG)
        assert not run.ok and run.health is None
        assert [one.slug for one in brain.programs.list_runnable()] == ["count-words"]
