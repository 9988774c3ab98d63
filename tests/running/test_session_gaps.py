"""Sessions of MCP report the calls of skills that failed, and say nothing of what they were for."""

from contextlib import suppress
from threading import Event

import pytest

from brain import Brain, ToolFailure
from brain.results import FailedGoal
from brain.serve.mcp.brain_pool import ClientBrain
from tests.support.acquired import LIMITED, creation
from tests.support.processes import TIMEOUT_SECONDS

LONG = {"text": "a " * 50}
SHORT = {"text": "a b"}


@pytest.fixture
def brain(tmp_path, sandbox, monkeypatch):
    monkeypatch.setenv("BRAIN_STATE_DIR", str(tmp_path / "state"))
    with Brain.init(tmp_path / "agent", author="tester") as made:
        yield made


def hold_session(brain: Brain, *calls: tuple[str, dict[str, str]]) -> None:
    """Call tools in a session of their own, and end it."""
    client = ClientBrain(brain, "claude")
    for name, arguments in calls:
        with suppress(ToolFailure):
            client.call("s", name, arguments)
    client.end_session("s")


def open_gaps(brain: Brain) -> list[FailedGoal]:
    assert brain.gaps.wait(TIMEOUT_SECONDS) == []
    return list(brain.gaps.list().gaps)


def test_a_tool_that_there_is_not_is_a_gap_once_two_sessions_asked_for_it(brain):
    hold_session(brain, ("parse_invoice", SHORT), ("parse_invoice", LONG))
    hold_session(brain, ("parse_invoice", SHORT))
    (gap,) = open_gaps(brain)
    assert (gap.goal, gap.tool) == ("Call the tool parse_invoice", "parse_invoice")
    assert (gap.failures, gap.score) == (2, "0.60")
    assert gap.error == "skill not found: There is no tool 'parse_invoice'."


def test_a_skill_that_failed_last_is_reported_until_a_session_used_it_well(brain):
    hold_session(brain, ("create_skill", creation("count_words", LIMITED)))
    hold_session(brain, ("count_words", LONG), ("count_words", SHORT))
    assert open_gaps(brain) == []
    hold_session(brain, ("count_words", SHORT), ("count_words", LONG))
    (gap,) = open_gaps(brain)
    assert (gap.failures, gap.error) == (1, "ValueError: too many words")
    hold_session(brain, ("count_words", SHORT))
    assert open_gaps(brain) == []


def test_wrong_calls_of_other_tools_and_cancelled_runs_are_no_gaps(brain):
    hold_session(brain, ("create_skill", creation("count_words", LIMITED)))
    hold_session(brain, ("skill_view", {"name": "none"}), ("count_words", {"words": "1"}))
    task = brain.task("A session", agent="claude")
    cancel = Event()
    cancel.set()
    client = ClientBrain(brain, "claude")
    with pytest.raises(ToolFailure):
        client.open_toolbox("s").call("count_words", LONG, cancel=cancel)
    client.close_toolbox()
    client.end_session("s")
    task.abandon()
    assert open_gaps(brain) == []


def test_a_task_that_says_how_it_ended_reports_its_goal_alone(brain):
    with brain.task("Read the invoice") as task:
        task.note_skill_call("parse_invoice", "skill not found")
        task.set_outcome("failure", "no tool")
    assert [gap.goal for gap in open_gaps(brain)] == ["Read the invoice"]


def test_a_session_reports_a_few_tools_however_many_it_asked_for(brain):
    task = brain.task("A session", agent="claude")
    for number in range(100):
        task.note_skill_call(f"tool_{number}", "skill not found")
    task.abandon()
    assert len(open_gaps(brain)) == 16
