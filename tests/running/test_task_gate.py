"""A change of a skill is tried on tasks: a solver with the old text in front, and with the new."""

from pathlib import Path

import pytest

from brain import Brain
from brain.evolve.task_runner import TaskRunner, case_input
from brain.gating.output_check import TASK_PASSES
from brain.repo.learning.change import ProposedChange
from brain.sandbox.find_sandbox import find_sandbox
from brain.solving.solver import SessionCommand
from brain.tasks.task_folders import read_tasks
from tests.support.task_folders import HARBOR, make_task

OBEYS = "grep -o hello $SKILLS/greet/SKILL.md > out.txt"
"""A solver that does what the skill says."""


@pytest.fixture
def gated(tmp_path):
    """A brain with a skill, and held-out cases of it that are tasks."""
    brain = Brain.init(tmp_path / "brain", author="ada")
    brain.files.edit("manifest.yaml", lambda _: b"evolution:\n  mode: gated\n")
    brain.skills.upsert("greet", "# Greet\n\nWave.\n", description="How to greet")
    number = 0
    while len([one for one in brain.gate.list_cases("greet") if one.split == "held-out"]) < 6:
        number += 1
        text = f"Write hello to out.txt, for guest {number}.\n"
        make_task(tmp_path / "tasks" / f"t{number}", {**HARBOR, "instruction.md": text})
        (task,) = read_tasks(tmp_path / "tasks" / f"t{number}").tasks
        brain.gate.add_case("greet", case_input(task), TASK_PASSES, name=task.name)
    with brain:
        yield brain, read_tasks(tmp_path / "tasks").tasks


def propose(brain, runner):
    change = ProposedChange(name="greet", evolver="person", body="# Greet\n\nSay hello.\n")
    return brain.gate.open(runner=runner).propose(change)


def test_a_change_that_helps_is_decided_by_its_tasks_and_derived_again_without_them(gated):
    brain, tasks = gated
    outcome = propose(brain, TaskRunner(tasks, SessionCommand(OBEYS), find_sandbox()))
    numbers = outcome.numbers
    assert numbers is not None and (numbers.wins > 0, numbers.losses) == (True, 0)
    assert numbers.runner == "command grep" and outcome.done in ("admitted", "proposed")
    found = brain.gate.recheck(outcome.attempt or outcome.snapshot)
    assert not found.differences


def test_a_skill_that_no_solver_reads_ends_the_trial_after_one_round(gated):
    brain, tasks = gated
    outcome = propose(brain, TaskRunner(tasks, SessionCommand("true"), find_sandbox()))
    assert outcome.done == "kept" and outcome.numbers is not None
    assert (outcome.numbers.read_cases, outcome.numbers.rounds) == (0, 1)
    assert outcome.reason == "read in 0 of 6 tasks, so its text was not tried"
    (attempt,) = brain.programs.attempts("greet")
    assert attempt.reason == outcome.reason
    assert not brain.gate.recheck(outcome.attempt).differences and brain.verify().ok


def test_a_part_of_a_score_counts_as_such(gated):
    """The old text reaches 0.1 of each task, the new one 0.9; no attempt passes."""
    brain, tasks = gated
    for task in tasks:
        script = "grep -qs hello out.txt && r=0.9 || r=0.1; echo $r > /logs/verifier/reward.txt\n"
        Path(task.tests["test.sh"].path).write_text(script)
    tasks = read_tasks(Path(tasks[0].tests["test.sh"].path).parents[2]).tasks
    outcome = propose(brain, TaskRunner(tasks, SessionCommand(OBEYS), find_sandbox()))
    numbers = outcome.numbers
    assert numbers is not None and (numbers.wins, numbers.losses) == (6 * numbers.rounds, 0)
    assert numbers.read_cases == 6 and outcome.done == "admitted"
    assert not brain.gate.recheck(outcome.snapshot).differences
    assert brain.verify().ok
