"""`brain evolve gaps`: goals that fail, and the audit."""

import json
from pathlib import Path

from brain import Brain, evolve
from tests.support.gap_answers import NO_SKILL
from tests.support.scripted_model import FakeModel

GOAL = "Count the words\x1b[31m of the report"


def fail(agent: Path, times: int) -> None:
    with Brain.open(agent) as brain:
        for _ in range(times):
            brain.gaps.report(GOAL, "exit 1")
        brain.gaps.wait()


def test_without_failures_there_are_the_counts_alone(agent, cli):
    assert cli("evolve", "gaps").out.splitlines() == [
        "No goal fails.",
        "",
        "Mode propose; gaps are looked for every hour; attempts: 0 of 2 hourly, 0 of 5 daily",
    ]
    assert cli("evolve", "gaps", "--log").out == ""


def test_each_goal_is_a_line_with_what_would_happen(agent, cli):
    fail(agent, 2)
    shown = cli("evolve", "gaps").out
    assert "0.40" in shown and "nothing: its score is not above 0.50" in shown
    assert "\x1b[31m" not in shown
    fail(agent, 1)
    shown = cli("evolve", "gaps").out
    assert "0.60" in shown and "attempt: it is queued" in shown


def test_the_document_follows_its_schema(agent, cli):
    fail(agent, 3)
    document = cli("evolve", "gaps", "--json").document
    (gap,) = document["gaps"]
    assert (gap["failures"], gap["score"], gap["goal"]) == (3, "0.60", GOAL)


def test_the_audit_is_json_lines_for_people_and_programs(agent, cli):
    fail(agent, 3)
    with Brain.open(agent) as brain:
        evolve.run_gaps(brain, FakeModel(NO_SKILL))
    for options in ((), ("--json",)):
        lines = cli("evolve", "gaps", "--log", *options).out.splitlines()
        events = [json.loads(line) for line in lines]
        assert [event["result"] for event in events] == ["skipped"] * 3
        assert [event["phase"] for event in events[:2]] == ["score", "score"]
    assert len(cli("evolve", "gaps", "--log", "--last", "1").out.splitlines()) == 1
