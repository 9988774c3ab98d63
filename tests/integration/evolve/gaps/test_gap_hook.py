"""Failed tasks report themselves, and nothing about that reaches the agent."""

import json
import multiprocessing
import subprocess
import sys
import threading
from contextlib import closing

import apsw
import pytest

from brain import Brain, evolve
from brain.experience.gaps import (
    GAP_RESULTS,
    GAPS,
    GapReport,
    build_gap_event,
    describe_event,
    record_failure,
)
from brain.experience.recorder import MAX_WAITING, Note, Recorder
from brain.experience.store import Store
from brain.results import FailedGoal
from tests.support.processes import TIMEOUT_SECONDS
from tests.support.scripted_model import FakeModel

GOAL = "Parse the schema of the invoice"
LACKING = "I have no tool that reads schemas."


def fail_task(brain: Brain, goal: str = GOAL) -> None:
    with pytest.raises(ValueError, match="exit 1"), brain.task(goal):
        raise ValueError("exit 1")


def open_gaps(brain: Brain) -> list[FailedGoal]:
    assert brain.gaps.wait(TIMEOUT_SECONDS) == []
    return list(brain.gaps.list().gaps)


def test_tasks_that_fail_in_a_row_are_counted_until_one_succeeds(brain):
    for _ in range(3):
        fail_task(brain)
    (gap,) = open_gaps(brain)
    assert (gap.goal, gap.failures, gap.score) == (GOAL, 3, "0.60")
    assert gap.error == "ValueError: exit 1"
    with brain.task(GOAL.upper()):
        pass
    assert open_gaps(brain) == []


def test_the_last_error_of_a_tool_and_reflections_are_signals(brain):
    with brain.task(GOAL) as task:
        task.record_tool_call("python", "import yaml", error="ModuleNotFoundError: yaml")
        task.reflect(LACKING)
        task.set_outcome("failure", "nothing worked")
    (gap,) = open_gaps(brain)
    assert (gap.failures, gap.score) == (1, "0.60")
    assert gap.error == "nothing worked\nModuleNotFoundError: yaml"


@pytest.mark.parametrize("outcome", ["cancelled", "unknown"])
def test_a_task_with_another_outcome_says_nothing_about_its_goal(brain, outcome):
    fail_task(brain)
    with brain.task(GOAL) as task:
        task.set_outcome(outcome)
    assert [gap.failures for gap in open_gaps(brain)] == [1]


def test_an_agent_reports_by_itself_with_the_tool(brain):
    brain.gaps.report(GOAL, "skill not found", tool="browser", reflections=[LACKING])
    (gap,) = open_gaps(brain)
    assert (gap.tool, gap.score) == ("browser", "0.60")
    brain.gaps.report_success(GOAL, tool="browser")
    assert open_gaps(brain) == []


def test_a_broken_store_gives_a_notice_and_no_error(brain):
    (brain.root / ".brain" / "evolution.db").write_bytes(b"no database at all" * 999)
    fail_task(brain)
    (notice,) = brain.gaps.wait(TIMEOUT_SECONDS)
    assert notice.code == "gap_not_noted"
    assert "a failed goal was not noted" in notice.message
    assert brain.gaps.wait() == []


def test_a_task_does_not_wait_for_a_store_that_another_process_holds(brain):
    brain.gaps.report(GOAL)
    brain.gaps.wait(TIMEOUT_SECONDS)
    with closing(apsw.Connection(str(brain.root / ".brain" / "evolution.db"))) as other:
        other.execute("BEGIN IMMEDIATE")
        fail_task(brain)  # ends although the report cannot be written
        recorder = brain._locked.recorder
        assert recorder is not None and not recorder.wait(0)
        other.execute("ROLLBACK")
    assert [gap.failures for gap in open_gaps(brain)] == [2]


def test_reports_beyond_what_may_wait_are_dropped_with_a_notice(tmp_path):
    opening, may_open = threading.Event(), threading.Event()

    def open_store() -> Store:
        opening.set()
        assert may_open.wait(TIMEOUT_SECONDS)
        return Store(tmp_path)

    recorder = Recorder(open_store)
    recorder.put(Note(lambda store: False))
    assert opening.wait(TIMEOUT_SECONDS)
    for _ in range(MAX_WAITING + 1):
        recorder.put(Note(lambda store: False))
    may_open.set()
    assert recorder.wait(TIMEOUT_SECONDS)
    assert [notice.code for notice in recorder.take_notices()] == ["gap_dropped"]


def test_a_fault_that_is_no_error_of_a_brain_is_a_notice_too(brain, monkeypatch):
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr(Store, "fact", fail)
    fail_task(brain)
    (notice,) = brain.gaps.wait(TIMEOUT_SECONDS)
    assert "ZeroDivisionError" in notice.message


@pytest.mark.parametrize("value", ["false", "False", "0", "no", "off"])
def test_the_environment_turns_it_off(brain, monkeypatch, value):
    monkeypatch.setenv("SKILLS_ENABLED", value)
    fail_task(brain)
    assert open_gaps(brain) == []
    assert brain.gaps.list().mode == "off"
    assert evolve.run_gaps(brain, FakeModel()) == []
    assert not (brain.root / ".brain" / "evolution.db").exists()


def test_the_manifest_turns_it_off(brain):
    manifest = brain.root / "manifest.yaml"
    manifest.write_text(f"{manifest.read_text()}evolution:\n  mode: off\n")
    brain.snapshot()
    fail_task(brain)
    assert open_gaps(brain) == []


def test_a_goal_below_the_threshold_is_in_the_audit(brain):
    fail_task(brain)
    (gap,) = open_gaps(brain)
    (event,) = brain.gaps.log()
    assert event._asdict() == {
        "ts": event.ts,
        "capability_name": "",
        "trigger_reason": f"gap_score=0.20,goal={gap.key[:8]},reason=below the threshold",
        "phase": "score",
        "result": "skipped",
    }


def append_events(folder: str, process: int) -> None:
    with closing(Store(folder)) as store:
        gap = record_failure(store, GapReport(goal=f'{process}\n"quoted" \x1b[31m', at=1_000))
        for number, result in enumerate(GAP_RESULTS * 5):
            event = build_gap_event(gap, number, "gate", result, name="a_b", reason='"\n\u2028')
            store.log(event)


def test_the_audit_stays_json_lines_under_writers_at_once(tmp_path):
    context = multiprocessing.get_context("fork")
    children = [
        context.Process(target=append_events, args=(str(tmp_path), process)) for process in range(8)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join(TIMEOUT_SECONDS)
    assert [child.exitcode for child in children] == [0] * 8
    with closing(Store(tmp_path)) as store:
        events = store.events(GAPS, 1_000)
    lines = [json.dumps(describe_event(event)._asdict()) for event in events]
    assert len(lines) == 8 * 20
    assert all(len(line.splitlines()) == 1 for line in lines)
    assert {json.loads(line)["result"] for line in lines} == set(GAP_RESULTS)


def test_a_report_loads_next_to_nothing_in_the_thread_of_the_agent(tmp_path):
    Brain.init(tmp_path).close()
    code = f"""
import sys
from brain import Brain
import brain.api.task
from brain.experience.recorder import Recorder
noted = []
Recorder._write_all = lambda self: noted.append(self)
with Brain.open({str(tmp_path)!r}) as opened:
    before = set(sys.modules)
    opened.gaps.report("Count words", "ImportError: words")
    loaded = sorted(set(sys.modules) - before)
    assert not [name for name in loaded if "experience" in name or "secrets" in name], loaded
    assert len(loaded) < 8, loaded
    import os
    os._exit(0)  # the recorder, which notes nothing here, is not waited for
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_reports_are_noted_before_the_interpreter_ends(tmp_path):
    Brain.init(tmp_path).close()
    code = f"""
from brain import Brain
with Brain.open({str(tmp_path)!r}) as opened:
    opened.gaps.report("Count words")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    with Brain.open(tmp_path) as brain:
        assert [gap.goal for gap in open_gaps(brain)] == ["Count words"]


def test_a_success_where_nothing_ever_failed_starts_nothing(brain):
    with brain.task(GOAL):
        pass
    assert brain._locked.recorder is None
