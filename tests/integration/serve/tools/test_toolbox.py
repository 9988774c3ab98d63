"""Whatever a model calls, it gets an answer or a failure that it can act on."""

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from brain import Brain
from brain.serve.tools import TOOLS, Toolbox, ToolFailure, ToolResult
from tests.support.cases import read_cases
from tests.support.refusals import raises_code
from tests.unit.serve.tools.test_arguments import JSON, objects

CASES = read_cases(__file__)

ODD = ["../x", "/etc/passwd", "C:\\x", "a/../b", ".brain/x", "", " ", "\x00", "\u202e", "SKILL.md"]
NAMES = st.sampled_from(["a", "b", "A b", "c++", "memory", "user", "x.jsonl", *ODD]) | st.text()
PATHS = st.sampled_from(
    ["references/a.md", "scripts/x", "references/SKILL.md", "assets", *ODD]
) | st.text(max_size=20)


def call_of(tool: Any) -> st.SearchStrategy[tuple[str, Any]]:
    known: dict[str, st.SearchStrategy[Any]] = {}
    for name, schema in tool.parameters["properties"].items():
        if "enum" in schema:
            known[name] = st.sampled_from(schema["enum"])
        elif name == "file_path":
            known[name] = PATHS
        elif schema["type"] == "string":
            known[name] = NAMES
    usual = st.fixed_dictionaries({}, optional=known)
    return st.tuples(st.just(tool.name), usual | objects(tool.parameters))


CALLS = st.one_of(*map(call_of, TOOLS), st.tuples(st.text(), JSON), st.tuples(st.text(), NAMES))


def outside(brain: Brain) -> dict[str, bytes]:
    """Return all files but those below skills/, memory/ and memories/."""
    top = brain.root.parent
    return {
        str(path.relative_to(top)): path.read_bytes()
        for path in top.rglob("*")
        if path.is_file()
        and path.relative_to(brain.root if path.is_relative_to(brain.root) else top).parts[0]
        not in (".brain", "skills", "memory", "memories")
    }


@given(calls=st.lists(CALLS, min_size=1, max_size=8))
@example(calls=[("memory", {"target": "", "content": "", "operations": [math.nan]})])
@settings(
    max_examples=50,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_call_gives_an_answer_or_a_failure_and_writes_nowhere_else(calls, agent):
    before = outside(agent.brain)
    for name, arguments in calls:
        head = agent.brain.head
        try:
            answer = agent.tools.call(name, arguments)
        except ToolFailure as failure:
            said = failure.text
            assert failure.code and agent.brain.head == head
        else:
            said = answer.text
            assert isinstance(answer, ToolResult) and answer.changed == (agent.brain.head != head)
            assert "Traceback" not in said
        assert str(agent.brain.root.parent) not in said
        said.encode()
    assert outside(agent.brain) == before
    assert agent.brain.status().clean and agent.brain.verify().ok


@pytest.mark.parametrize("tool", [tool.name for tool in TOOLS])
def test_arguments_that_fit_no_schema_are_a_failure(agent, tool):
    names = {"name": "../x", "target": "../x", "limit": -1, "more": {"deep": [1]}}
    for value in (names, {"limit": 10**9}, {"name": ["a"]}, {"extra": 1}, [], None, 3, "[1]"):
        with raises_code("bad_arguments", ToolFailure) as caught:
            agent.tools.call(tool, value)  # type: ignore[arg-type]
        assert str(agent.brain.root) not in caught.value.text


def test_arguments_may_be_a_json_text(agent):
    agent.tools.call("skill_manage", '{"action": "create", "name": "a", "content": "Do."}')
    assert [skill.slug for skill in agent.brain.skills.list()] == ["a"]


def test_an_unknown_tool_is_a_failure_that_names_the_nearest(agent):
    assert "skill_view" in agent.expect_failure("skil_view").text
    assert "brain_log" in agent.expect_failure("\x1b[2Jno such tool").text
    for name, shown in (("q" * 80, "q" * 80), ("q" * 81, "q" * 80 + "…")):
        assert agent.expect_failure(name).message == f"There is no tool '{shown}'."


KEY = "-----BEGIN OPENSSH PRIVATE " + "KEY-----\n" + "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE\n" * 6


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("skill_manage", {"action": "create", "name": "b", "content": KEY}),
        ("skill_manage", {"action": "create", "name": "b", "content": "x", "description": KEY}),
        ("skill_manage", {"action": "patch", "name": "a", "old_string": "rest", "new_string": KEY}),
        (
            "skill_manage",
            {"action": "write_file", "name": "a", "file_path": "assets/k", "file_content": KEY},
        ),
        ("memory", {"action": "add", "target": "memory", "content": KEY}),
        ("memory", {"target": "user", "operations": [{"action": "add", "content": KEY}]}),
        ("brain_snapshot", {"message": KEY}),
    ],
)
def test_a_secret_is_not_written_down(agent, tool, given):
    agent("skill_manage", action="create", name="a", content="Do it.\nThen rest.\n")
    failure = agent.expect_failure(tool, **given)
    assert failure.code == "secret" and "b3BlbnNzaC1" not in failure.text
    accepted = failure.text.split()[-5]
    (agent.brain.root / "manifest.yaml").write_text(f"secrets:\n  accepted: ['{accepted}']\n")
    agent.brain.snapshot()
    if given.get("description") is None:
        assert agent(tool, **given).text


LETTERS = "Q7zK2wX9m4TB8vNRd6Yc3LfJh5Ps0GtAq1We"  # of a token of GitHub
HALVES = "gh" + "p_" + LETTERS[:18], LETTERS[18:]


@pytest.mark.parametrize(
    ("tool", "before", "given"),
    [
        ("skill_manage", {"action": "create", "content": f"Use {HALVES[0]}~ for it.\n"}, {}),
        (
            "skill_manage",
            {"action": "write_file", "file_path": "assets/k", "file_content": f"{HALVES[0]}~\n"},
            {"file_path": "assets/k"},
        ),
    ],
)
def test_a_secret_put_together_by_a_patch_is_not_written_down(agent, tool, before, given):
    agent(tool, action="create", name="a", content="Do it.\n")
    agent(tool, name="a", **before)
    patch = {"action": "patch", "name": "a", "old_string": "~", **given}
    failure = agent.expect_failure(tool, **patch, new_string=HALVES[1])
    assert failure.code == "secret" and LETTERS[:8] not in failure.text
    assert "of the resulting text looks like a secret (github-token)" in failure.text
    assert agent(tool, **patch, new_string="-").changed


def test_a_secret_in_the_name_that_a_skill_keeps_is_not_written_down(agent):
    failure = agent.expect_failure(
        "skill_manage", action="create", name="".join(HALVES), content="x"
    )
    assert failure.code == "secret"


def test_a_secret_in_disguise_is_not_remembered(agent):
    line = '{"key": "\\u0067' + "".join(HALVES)[1:] + '"}'
    given = {"action": "add", "target": "a.jsonl", "content": line}
    assert agent.expect_failure("memory", **given).code == "secret"


PASSWORD = "wq7zkf" + "29Xb"


@pytest.mark.parametrize(
    ("tool", "given"), CASES["test_what_may_be_a_secret_is_written_with_a_notice"]
)
def test_what_may_be_a_secret_is_written_with_a_notice(agent, tool, given):
    agent("skill_manage", action="create", name="a", content="Do it.\n")
    line = f"The shop: password = {PASSWORD} for now."
    written = agent(tool, **{name: text.replace("{}", line) for name, text in given.items()})
    assert written.changed and "\nNote: " in written.text
    assert "password = [redacted: assigned-password] for now." in written.text
    assert PASSWORD not in written.text
    recorded = [agent.brain.files.read(file.path) for file in agent.brain.files.list()]
    assert any(PASSWORD.encode() in content for content in recorded)


def test_a_secret_that_a_person_wrote_does_not_stand_in_the_way(agent):
    agent("skill_manage", action="create", name="a", content="Do it.\n")
    agent("memory", action="add", target="memory", content="One.")
    for path in ("skills/a/SKILL.md", "memory/MEMORY.md"):
        with (agent.brain.root / path).open("a") as file:
            file.write("".join(HALVES) + "\n")
    patch = {"action": "patch", "name": "a", "old_string": "\nDo", "new_string": "\nTry"}
    assert agent("skill_manage", **patch).changed
    assert agent("memory", action="add", target="memory", content="Two.").changed


def test_a_brain_that_another_writer_holds_is_a_failure(agent, monkeypatch):
    from brain.repo import transaction
    from brain.store.writer import writer_lock

    monkeypatch.setattr(transaction, "LOCK_TIMEOUT_SECONDS", 0.0)
    with writer_lock(agent.brain.root / ".brain", 1.0):
        failure = agent.expect_failure("skill_manage", action="create", name="a", content="x")
    assert failure.code == "locked"


@pytest.mark.parametrize("way", ["file", "link"])
def test_where_no_skill_can_be_written_none_is_recorded(agent, way):
    skills = agent.brain.root / "skills"
    skills.rmdir()
    if way == "file":
        skills.write_bytes(b"")
    else:
        skills.symlink_to(agent.brain.root.parent)
    failure = agent.expect_failure("skill_manage", action="create", name="a", content="x")
    assert failure.code == "unsafe_path" and agent.brain.skills.list() == []


def test_the_same_tools_work_on_a_proposal(agent, tmp_path):
    agent("skill_manage", action="create", name="a", content="Do it.\nThen this.\n")
    with agent.brain.proposals.open("agent-7", author="agent-7") as beside:
        tools = Toolbox(beside)
        for given in (
            {"action": "patch", "name": "a", "old_string": "this", "new_string": "that"},
            {"action": "write_file", "name": "a", "file_path": "assets/x", "file_content": "x"},
            {"action": "create", "name": "b", "content": "New.\n", "category": "more"},
        ):
            assert tools.call("skill_manage", given).changed
        tools.call("memory", {"action": "add", "target": "user", "content": "Tea."})
        assert "that" in tools.call("skill_view", {"name": "a"}).text
    assert (
        agent.read_text("skills/a/SKILL.md").endswith("Then this.\n") and agent.brain.status().clean
    )
    proposed = agent.brain.proposals.show("agent-7")
    agent.brain.proposals.accept(proposed.snapshot)
    assert (
        agent.read_text("skills/a/assets/x") == "x"
        and agent.read_text("memory/USER.md") == "Tea.\n"
    )


def test_a_write_that_will_not_verify_says_so(agent):
    first = agent("skill_manage", action="create", name="one", content="Do it.\n")
    assert "warnings" not in first.data and "Warning" not in first.text
    key = "ed25519:07f44661766cd1aecbcefec579202ba0ac753b8b6ce9acb811764e2f394864b2"
    agent.brain.trust.add(key, "ada")
    told = agent("skill_manage", action="edit", name="one", content="Do it well.\n")
    (warning,) = told.data["warnings"]
    assert (warning["code"], warning["snapshot"]) == ("unsigned", agent.brain.head)
    lines = [line for line in told.text.splitlines() if line.startswith("Warning: ")]
    assert lines == [f"Warning: {warning['message']}"] and len(lines[0]) < 100
    assert "warnings" not in agent("skill_view", name="one").data
    assert (
        "warnings"
        not in agent("skill_manage", action="create", name="one", content="Do it well.\n").data
    )
