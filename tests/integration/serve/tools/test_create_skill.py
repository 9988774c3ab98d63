"""create_skill and manage_skills: what is admitted, refused, and said."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from brain import Brain
from brain.programs.program import BUILT_IN_TOOLS
from brain.repo.learning.change import SkillEdit
from brain.serve.tools import TOOLS, Toolbox, ToolFailure, definitions
from brain.serve.tools.aliases import SKILL_MANAGER
from brain.serve.tools.definitions import PROGRAM_TOOLS
from tests.support.acquired import COUNT_WORDS, creation


@pytest.fixture
def tools(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAIN_STATE_DIR", str(tmp_path / "state"))
    with Brain.init(tmp_path / "b", author="agent") as brain:
        yield Toolbox(brain)


def fail(tools: Toolbox, name: str, given: dict[str, Any]) -> ToolFailure:
    with pytest.raises(ToolFailure) as caught:
        tools.call(name, given)
    return caught.value


def test_a_tool_that_passes_is_listed_and_called_by_name(tools):
    assert "version 1" in tools.call("create_skill", creation("count_words")).text
    assert tools.tools()[-1].name == "count_words"
    assert "CALL BY NAME" in tools.tools()[-1].description
    assert tools.call("count_words", '{"text": "a b"}').data["output"] == {"words": 2}
    assert not tools.call("create_skill", creation("count_words")).changed
    listed = tools.call("manage_skills", {"action": "list"})
    assert listed.text == "▸ count_words (version 1): Does what count_words says"
    tools.call("manage_skills", {"action": "delete", "name": "count_words"})
    assert tools.tools()[-1].name == "manage_skills"
    assert fail(tools, "count_words", {"text": "a"}).code == "no_tool"


def test_damaged_code_and_payloads_as_text_are_repaired(tools):
    given = creation("count_words", f"<![CDATA[{COUNT_WORDS}]]>", test_payload='{"text": "a b"}')
    assert tools.call("create_skill", {**given, "expected": {"words": 2}}).changed


def test_a_rejected_attempt_is_named_at_the_next_one(tools):
    first = fail(tools, "create_skill", creation("count_words", check=""))
    assert first.code == "rejected" and "the tests also pass for" in first.text
    crash = creation("count_words", "import sys\nraise ValueError('no')\n")
    second = fail(tools, "create_skill", crash)
    assert "ValueError: no" in second.text
    assert "1 earlier attempt; the last failed: the tests also pass for" in second.text


@pytest.mark.parametrize("name", [*sorted(BUILT_IN_TOOLS), "../../pwn", "a b", "class", "x\n", ""])
def test_a_name_that_is_taken_or_unsafe_is_refused(tools, name):
    failure = fail(tools, "create_skill", creation(name))
    assert failure.code in ("bad_tool_name", "bad_arguments")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"test_payload": None}, "no_payload"),
        ({"test_payload": "[1]"}, "bad_arguments"),
        ({"python_code": "print("}, "bad_python"),
        ({"parameters_schema": {"type": "array"}}, "bad_schema"),
        ({"test_payloads": [{"text": "a"}, {"text": "b"}], "expected": 1}, "bad_expected"),
        ({"python_code": "from count_words import count_words\n"}, "rejected"),
        ({"python_code": "KEY = 'ghp_" + "Zk3vB9qLx2" * 3 + "7Yw4Tq'\n"}, "secret"),
    ],
)
def test_what_cannot_be_tried_is_refused_with_its_reason(tools, change, code):
    assert fail(tools, "create_skill", {**creation("count_words"), **change}).code == code


def test_code_that_wraps_a_tool_is_answered_with_how_to_call_it(tools):
    tools.call("create_skill", creation("count_words"))
    wrapped = "from count_words import count_words\nprint(count_words('a'))\n"
    failure = fail(tools, "create_skill", creation("other", wrapped))
    assert failure.code == "wrapped_call" and "call count_words by its name" in failure.text
    failure = fail(tools, "execute", {"command": "python3 count_words.py"})
    assert failure.code == "no_tool" and "call count_words by its name" in failure.text


def test_arguments_that_do_not_fit_start_nothing(tools):
    tools.call("create_skill", creation("count_words"))
    failure = fail(tools, "count_words", {"txt": "a"})
    assert failure.code == "bad_payload" and "did you mean text?" in failure.text


def test_lessons_are_answered_with_where_they_are(tools):
    assert "memory" in tools.call("manage_skills", {"action": "list", "query": "my lessons"}).text
    assert "memory" in fail(tools, "list_lessons", {}).text


def test_the_definitions_keep_to_their_budget():
    import json

    def size(tools: Any) -> int:
        return len(json.dumps(definitions.anthropic(tools), separators=(",", ":")))

    assert size(TOOLS) <= 8450
    assert size(PROGRAM_TOOLS) <= 4800


def test_a_skill_with_the_name_of_a_built_in_tool_is_no_tool(tmp_path, tools):
    tools.call("create_skill", creation("count_words"))
    with Brain.open(tmp_path / "b") as brain:
        program = brain.programs.find("count-words")
        request = SkillEdit(name="memory", files=program.files, description="Not a memory")
        assert brain.programs.acquire(request).decision == "admit"
        names = [tool.name for tool in Toolbox(brain).tools()]
        assert names.count("memory") == 1


def test_of_two_agents_that_make_one_tool_at_once_one_is_told(tmp_path, tools):
    with Brain.open(tmp_path / "b", author="other") as brain, ThreadPoolExecutor(2) as threads:
        jobs = [
            threads.submit(box.call, "create_skill", creation("count_words", description=about))
            for box, about in ((tools, "One"), (Toolbox(brain), "Other"))
        ]
        failures = [job.exception() for job in jobs]
        (failure,) = [failure for failure in failures if failure is not None]
        assert isinstance(failure, ToolFailure) and failure.code == "stale_base"
        assert [skill.version for skill in brain.programs.list()] == [1]
        assert brain.verify().ok


def test_a_cancelled_trial_ends_and_keeps_nothing(tools):
    cancel = Event()
    cancel.set()
    head = tools._brain.head
    with pytest.raises(ToolFailure) as caught:
        tools.call("create_skill", creation("count_words"), cancel=cancel)
    assert "cancelled" in caught.value.text
    assert tools._brain.head == head and tools._brain.programs.attempts() == []


def test_the_reserved_names_are_those_of_the_tools_of_the_brain():
    names = {tool.name for tool in (*TOOLS, *PROGRAM_TOOLS, SKILL_MANAGER)}
    assert names | {"list_lessons"} == BUILT_IN_TOOLS
