"""Clients that may only read change nothing, whatever name they call, by any way."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from brain import Brain
from brain.programs.program import BUILT_IN_TOOLS
from brain.serve.tools import Toolbox, ToolFailure
from tests.support.acquired import CALLER, COUNT_WORDS, LIMITED, creation
from tests.support.mcp_peers import INITIALIZE_PARAMS, HttpServer, PipeServer, encode_request

Call = Callable[[str, dict[str, Any]], tuple[bool, str]]
"""Calls a tool by its name; returns whether that worked, and the text of the answer."""

READERS = {"skills_list", "skill_view", "brain_diff", "brain_log", "brain_verify"}
PROGRAMS = {"count_words", "twice"}
_WITHOUT_CODE = {name: value for name, value in creation("new").items() if name != "python_code"}
CALLS: dict[str, list[dict[str, Any]]] = {
    "skills_list": [{}],
    "skill_view": [{"name": "oracle"}],
    "brain_diff": [{}, {"from": "@~1", "to": "@", "patch": True}],
    "brain_log": [{}],
    "brain_verify": [{"deep": True}],
    "brain_snapshot": [{"message": "Hand edits"}],
    "skill_manage": [
        {"action": "create", "name": "New", "content": "N.\n", "description": "New"},
        {"action": "patch", "name": "oracle", "old_string": "One", "new_string": "Two"},
        {"action": "delete", "name": "oracle"},
    ],
    "memory": [{"action": "add", "target": "memory", "content": "A fact"}],
    "create_skill": [creation("made"), creation("count_words", description="Another one")],
    "manage_skills": [{"action": "delete", "name": "count_words"}, {"action": "list"}],
    "skill_manager": [
        {"action": "create", "code": COUNT_WORDS, **_WITHOUT_CODE},
        {"action": "delete", "name": "count_words"},
        {"action": "list"},
    ],
    "list_lessons": [{}],
    "untried": [{}],
    "oracle": [{}],
    "Skill-Manager": [{"action": "delete", "name": "count_words"}],
    "count_words": [{"text": "a b"}, *[{"text": f"{'w ' * 60}{n}"} for n in range(4)], {}],
    "twice": [{"text": f"{'w ' * 60}{n}"} for n in range(4)],
}
"""Every name there is, and some that are no tools. Long texts make count_words fail."""


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A brain with a skill, two admitted programs, one that was not tried, and a hand edit."""
    parent = tmp_path_factory.mktemp("readers")
    root = parent / "agent"
    with pytest.MonkeyPatch.context() as patch, Brain.init(root, author="person") as brain:
        patch.setenv("BRAIN_STATE_DIR", str(parent / "state"))
        brain.skills.upsert("Oracle", "One.\n", description="Check the oracle")
        tools = Toolbox(brain)
        tools.call("create_skill", creation("count_words", LIMITED))
        tools.call("create_skill", creation("twice", CALLER))
        files = {"skill.py": COUNT_WORDS.encode()}
        brain.skills.upsert("Untried", "U.\n", description="Not tried", files=files)
    text = root / "skills/oracle/SKILL.md"
    text.write_text(f"{text.read_text()}By hand.\n")
    return parent


@pytest.fixture
def folder(template, tmp_path, monkeypatch):
    """The folder of such a brain, with a state folder of its own."""
    shutil.copytree(template, tmp_path / "readers")
    monkeypatch.setenv("BRAIN_STATE_DIR", str(tmp_path / "readers/state"))
    return tmp_path / "readers/agent"


@contextmanager
def by_python(folder: Path) -> Iterator[Call]:
    """Yield calls of a toolbox."""
    with Brain.open(folder) as brain:
        toolbox = Toolbox(brain, read_only=True)

        def call(name: str, arguments: dict[str, Any]) -> tuple[bool, str]:
            try:
                return True, toolbox.call(name, arguments).text
            except ToolFailure as failure:
                return False, failure.text

        yield call


def _read_result(answer: dict[str, Any]) -> tuple[bool, str]:
    result = answer["result"]
    return not result.get("isError"), result["content"][0]["text"]


@contextmanager
def by_stdio(folder: Path) -> Iterator[Call]:
    """Yield calls over pipes."""
    with PipeServer(folder, "--read-only") as server:
        server.initialize()
        yield lambda name, arguments: _read_result(
            server.call("tools/call", name=name, arguments=arguments)
        )


@contextmanager
def by_http(folder: Path) -> Iterator[Call]:
    """Yield calls over HTTP."""
    with HttpServer(folder, "--read-only") as server:
        _, head, _ = server.post(encode_request("initialize", **INITIALIZE_PARAMS))
        found = re.search(rb"(?i)\r\nmcp-session-id: (\w+)", head)
        assert found is not None
        session = f"Mcp-Session-Id: {found[1].decode()}"

        def call(name: str, arguments: dict[str, Any]) -> tuple[bool, str]:
            request = encode_request("tools/call", name=name, arguments=arguments)
            body = server.post(request, session)[2]
            answer, _ = json.JSONDecoder().raw_decode(body.decode(), body.index(b"{"))
            return _read_result(answer)

        yield call


def _read_state(folder: Path) -> dict[str, object]:
    """Return all that a brain has: files, each row of its stores, and what may run here."""
    files = [*folder.rglob("*"), *(folder.parent / "state").rglob("*")]
    control = folder / ".brain"
    found: dict[str, object] = {
        str(file): file.read_bytes()
        for file in files
        if file.is_file() and control not in file.parents
    }
    for store in sorted(control.glob("*.db")):
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as opened:
            found[str(store)] = [*opened.iterdump()]
    return found


@pytest.mark.parametrize("way", [by_python, by_stdio, by_http])
def test_a_client_that_may_only_read_changes_nothing_by_any_name(folder, way):
    with Brain.open(folder) as brain:
        listed = {tool.name for tool in Toolbox(brain).tools()}
    assert CALLS.keys() >= listed | BUILT_IN_TOOLS
    before = _read_state(folder)
    with way(folder) as call:
        answers = {
            name: [call(name, arguments) for arguments in calls] for name, calls in CALLS.items()
        }
    assert {name for name, given in answers.items() if given[0][0]} == READERS | PROGRAMS
    for name in (*BUILT_IN_TOOLS - READERS, "untried", "oracle", "Skill-Manager"):
        assert not any(worked for worked, _ in answers[name]), name
    assert "reading only" in answers["skill_manager"][0][1]
    assert [worked for worked, _ in answers["count_words"]] == [True, *[False] * 5]
    assert _read_state(folder) == before
    with Brain.open(folder) as brain:
        assert all(info.author for info in brain.history.log())
        assert {one.slug for one in brain.programs.list_runnable()} == {"count-words", "twice"}


def test_readers_are_offered_what_they_may_call(folder):
    with Brain.open(folder) as brain:
        tools = Toolbox(brain, read_only=True).tools()
    assert {tool.name for tool in tools} == READERS | PROGRAMS
    assert all(tool.read_only for tool in tools)
