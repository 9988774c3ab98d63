"""Failed goals: counted exactly, also by many processes, and forgotten when they succeed."""

import multiprocessing
from contextlib import closing

import pytest

from brain.experience import gaps
from brain.experience.gaps import (
    GAPS,
    GapReport,
    add_gap_work,
    find_open_gap,
    list_open_gaps,
    note_report,
    read_gap,
    record_failure,
    record_success,
)
from brain.experience.store import Store
from tests.support.processes import TIMEOUT_SECONDS

GOAL = "Parse the schema of the invoice"
PROCESSES = 32
PLANTED = "ghp_" + "a1B2c3D4e5" * 4


@pytest.fixture
def store(tmp_path):
    with closing(Store(tmp_path)) as opened:
        yield opened


def failure(goal: str = GOAL, at: int = 1_000, **more: object) -> GapReport:
    return GapReport(goal=goal, at=at, **more)  # type: ignore[arg-type]


def test_failures_of_one_goal_are_counted_whatever_its_case_and_spaces(store):
    record_failure(store, failure(at=1))
    record_failure(store, failure("  parse the SCHEMA of\nthe invoice. ", at=2))
    gap = record_failure(store, failure(at=3, error="ImportError: yaml"))
    assert (gap.failures, gap.since, gap.last, gap.goal) == (3, 1, 3, GOAL)
    assert (gap.error, gap.has_error_keyword) == ("ImportError: yaml", True)
    assert list_open_gaps(store) == [gap]


def test_the_same_goal_with_another_tool_is_counted_apart(store):
    record_failure(store, failure(tool="terminal"))
    record_failure(store, failure(tool="browser"))
    assert [gap.failures for gap in list_open_gaps(store)] == [1, 1]
    record_success(store, GOAL, "browser")
    assert [gap.tool for gap in list_open_gaps(store)] == ["terminal"]


def test_a_success_ends_the_row_of_failures_at_every_tool(store):
    for tool in ("", "terminal"):
        record_failure(store, failure(tool=tool))
    record_failure(store, failure("Another goal"))
    record_success(store, GOAL.upper())
    assert [gap.goal for gap in list_open_gaps(store)] == ["Another goal"]
    assert record_failure(store, failure(at=9)).failures == 1


def test_a_success_of_what_never_failed_writes_nothing(store, tmp_path):
    record_success(store, GOAL)
    assert list_open_gaps(store) == []
    assert not (tmp_path / "evolution.db").exists()


def test_reflections_of_all_failures_count(store):
    record_failure(store, failure(reflections=("I have no tool for this.",)))
    gap = record_failure(store, failure(reflections=("It took long.",)))
    assert gap.reflections == ("I have no tool for this.", "It took long.")
    assert (gap.percent, gap.is_due) == (60, True)


def test_texts_are_cut_and_hold_no_secrets(store):
    gap = record_failure(
        store,
        failure(
            f"Use {PLANTED} " + "x" * 9_000, error=f"{PLANTED}\0\ud800", reflections=(PLANTED,)
        ),
    )
    assert PLANTED not in str(store.facts(""))
    assert len(gap.goal.encode()) <= 600
    assert find_open_gap(store, gap.key) == gap


def test_of_too_many_gaps_the_one_that_failed_first_is_forgotten(store, monkeypatch):
    monkeypatch.setattr(gaps, "MAX_OPEN_GAPS", 3)
    for at, goal in enumerate("abcde"):
        record_failure(store, failure(goal, at=at))
    assert [gap.goal for gap in list_open_gaps(store)] == ["e", "d", "c"]
    assert record_failure(store, failure("f", at=-1)).failures == 1  # the clock was set back
    assert {gap.goal for gap in list_open_gaps(store)} == {"d", "e", "f"}


def test_a_queued_gap_is_read_back_as_it_was(store):
    gap = record_failure(store, failure(error="not found", reflections=("a", "b")))
    assert add_gap_work(store, gap, 5)
    assert not add_gap_work(store, gap, 6)
    (item,) = store.items(GAPS)
    assert (read_gap(item.data), item.result) == (gap, None)


def count_failures(folder: str, process: int) -> None:
    with closing(Store(folder)) as store:
        for number in range(4):
            note_report(store, failure(at=1_000 * process + number))


def test_processes_at_once_count_exactly(store, tmp_path):
    context = multiprocessing.get_context("fork")
    children = [
        context.Process(target=count_failures, args=(str(tmp_path), process))
        for process in range(PROCESSES)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join(TIMEOUT_SECONDS)
    assert [child.exitcode for child in children] == [0] * PROCESSES
    (gap,) = list_open_gaps(store)
    assert gap.failures == PROCESSES * 4
    episodes = {item.data["failures"] for item in store.items(GAPS)}
    assert episodes == set(range(3, PROCESSES * 4 + 1))
    below = [event.trigger_reason for event in store.events(GAPS)]
    assert sorted(below) == [
        f"gap_score=0.{n}0,goal={gap.key[:8]},reason=below the threshold" for n in (2, 4)
    ]
