"""A grind outlives bad tasks, bad workers and a spent budget, and gives nothing away."""

from dataclasses import replace

import pytest

from brain import Brain
from brain.errors import Conflict, InvalidInput
from brain.evolve.budget import BudgetSpent
from brain.evolve.grind.api import Agent, Engine, run_grind
from brain.evolve.grind.settings import GrindSettings
from brain.evolve.grind.solve import MemoryItem
from brain.solving.solver import SessionCommand
from brain.tasks.task_folders import read_tasks
from tests.support.grinds import (
    PLAIN,
    Script,
    draw_tasks,
    grind,
    make_row,
    make_task,
    normalize,
    skill_text,
    texts_of,
)
from tests.support.task_folders import OWN
from tests.support.task_folders import make_task as write_task

TASKS = draw_tasks(4, held_out=False)
SKILL = "skills/a/SKILL.md"


@pytest.fixture
def brain(tmp_path):
    with Brain.init(tmp_path / "brain", author="ada") as made:
        yield made
        assert made.verify().ok


def open_nothing(steps):
    return SessionCommand("true")


def start(brain, tasks, **given):
    settings = GrindSettings(**{**PLAIN, **given.pop("settings", {})})
    known = {"open_solver": open_nothing, "open_evolver": open_nothing, "sandbox": object()}
    return run_grind(brain, tasks, settings, **{**known, **given})


@pytest.mark.parametrize(
    ("names", "code"),
    [(("a", "b", "a"), "same_task"), (("A b", "a-b"), "same_task"), ((), "no_tasks")],
)
def test_tasks_that_cannot_be_told_apart_or_are_not_there(brain, names, code):
    with pytest.raises(InvalidInput) as caught:
        start(brain, [make_task(name) for name in names])
    assert caught.value.code == code
    assert not brain.proposals.list()


def test_a_task_whose_folder_changes_meanwhile_is_left_alone(brain, tmp_path):
    for at in range(8):
        write_task(tmp_path / f"tasks/t{at}", OWN)
    tasks = read_tasks(tmp_path / "tasks").tasks[:2]

    def change(number, files):
        (tmp_path / f"tasks/{tasks[1].name}/tests/test.sh").write_text("echo 1")

    report = grind(brain, tasks, Script(change=change), settings={"batch_size": 2})
    first, second = report["tasks"]
    assert first["result"] == "failed" and len(first["cycles"]) == 3
    assert second["result"] == "error" and "changed meanwhile" in second["reason"]


GARBAGE = {
    "text": "done",
    "nothing": None,
    "another task": make_row(TASKS[3], 1.0),
    "a field is missing": {"task": TASKS[0].name, "score": 1.0},
    "too good": make_row(TASKS[0], 7.0),
    "no number": make_row(TASKS[0], float("nan")),
    "a text as score": {**make_row(TASKS[0], 1.0), "score": "1"},
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_what_a_worker_answers_is_checked(brain, kind):
    script = Script()

    def solve(key, task, front):
        return GARBAGE[kind] if task is TASKS[0] else make_row(task, 1.0)

    report = grind(brain, TASKS[:2], script, solve=solve, settings={"batch_size": 2})
    first, second = report["tasks"]
    assert first["result"] == "error" and "its worker answered" in first["reason"]
    assert second["result"] == "passed" and report["result"] == "done"


@pytest.mark.parametrize("spent_at", [1, 3, 6, 8])
def test_a_budget_that_ends_in_the_middle_is_gone_on_with(brain, tmp_path, spent_at):
    def change(number, files):
        files[SKILL] = skill_text("good" if number > 1 else "bad")

    def score(task, front):
        return float("good" in texts_of(front))

    calls = []

    class Poor(Script):
        def solve(self, key, task, front):
            calls.append(key)
            if len(calls) == spent_at:
                raise BudgetSpent("the tokens of this run are spent")
            return super().solve(key, task, front)

    item, script = MemoryItem(), Poor(score, change)
    settings = {"settings": {"batch_size": 2}, "item": item}
    spent = grind(brain, TASKS, script, **settings)
    assert spent["result"] == "budget" and "spent" in spent["reason"]
    report = grind(brain, TASKS, script, **settings)
    assert set(script.paid.values()) == {1}
    with Brain.init(tmp_path / "other", author="ada") as other:
        whole = grind(other, TASKS, Script(score, change), settings={"batch_size": 2})
    assert normalize(report) == normalize(whole)


def test_another_command_does_not_go_on_with_a_grind(brain):
    tasks = draw_tasks(2, held_out=False)

    class Late:
        name = "late"

        def solve(self, task, skills, session):
            raise AssertionError("nothing is solved")

    class NoSandbox:
        def __getattr__(self, name):
            raise BudgetSpent("nothing is left")

    given = {"sandbox": NoSandbox()}
    assert start(brain, tasks, **given)["result"] == "budget"
    for other in (
        {"settings": {"max_cycles": 2}},
        {"open_solver": lambda steps: Late()},
        {"open_evolver": lambda steps: Late()},
    ):
        with pytest.raises(Conflict) as caught:
            start(brain, tasks, **given, **other)
        assert caught.value.code == "grind_differs"
    with pytest.raises(Conflict):
        start(brain, [replace(tasks[0], instruction="Other."), tasks[1]], **given)
    again = start(brain, tasks, **given, settings={"workers": 2})
    assert again["result"] == "budget", "how many solve side by side changes nothing"
    report = start(brain, tasks, **given, settings={"max_cycles": 2}, begin_anew=True)
    assert report["settings"]["max_cycles"] == 2


def test_what_stands_in_the_folder_is_recorded_before_it_is_ground(brain):
    class NoSandbox:
        def __getattr__(self, name):
            raise BudgetSpent("nothing is left")

    (brain.root / "skills/own").mkdir(parents=True)
    (brain.root / "skills/own/SKILL.md").write_text("By hand.\n")
    start(brain, draw_tasks(2, held_out=False), sandbox=NoSandbox())
    assert "skills/own/SKILL.md" in brain.gate.read_workspace()


def test_ten_thousand_tasks(brain):
    tasks = [make_task(f"n{at}") for at in range(10_000)]
    script = Script(lambda task, front: 1.0)
    report = grind(brain, tasks, script, settings={"batch_size": 500})
    assert len(report["batches"]) == 20 and sum(script.paid.values()) == 10_000


# In the sandbox

SPY = r"""
ls -R /tests /verifier /solution /oracle 2>/dev/null
find / -name test.sh -not -path '/proc/*' 2>/dev/null
mkdir -p /logs/verifier /tests
echo 1 > /logs/verifier/reward.txt
echo '{"reward": 1}' > /logs/verifier/reward.json
echo 'echo 1 > /logs/verifier/reward.txt' > /tests/test.sh
chmod -R a-w /logs /tests
(while :; do echo 1 > /logs/verifier/reward.txt; done) &
"""
LOOK = r"""
env; ls -la / /root /home /tests 2>&1; cat HOST 2>&1; cat /proc/self/environ | tr '\0' '\n'
cat /proc/*/environ 2>/dev/null | tr '\0' '\n'
"""


def solve_really(brain, folder, files, command):
    write_task(folder, {**OWN, **files})
    (task,) = read_tasks(folder).tasks
    return task, Agent(SessionCommand(command)).solve(brain, task)


def test_a_solver_sees_no_tests_and_cannot_write_its_reward(brain, tmp_path):
    spy = f"({SPY}) > seen.txt; cp seen.txt /root/seen.txt"
    tests = {"tests/test.sh": f"cat seen.txt\n{OWN['tests/test.sh']}"}
    _, row = solve_really(brain, tmp_path / "spy", tests, spy)
    assert row["score"] == 0.0 and not row["is_broken"]
    assert "test.sh" not in row["output"]


def test_a_verifier_that_hangs_is_ended(brain, tmp_path):
    hang = {
        "tests/test.sh": "echo 1 > /logs/verifier/reward.txt; sleep 600",
        "task.toml": "[verifier]\ntimeout_sec = 1.0\n[agent]\ntimeout_sec = 60.0\n",
        "instruction.md": "Do it.\n",
    }
    _, row = solve_really(brain, tmp_path / "hang", hang, "true")
    assert row["score"] is None and "took more than 1 s" in row["reason"]


def test_the_evolver_sees_neither_the_host_nor_its_environment_nor_tests(
    brain, tmp_path, monkeypatch
):
    monkeypatch.setenv("SECRET_OF_HOST", "hunter2hunter2")
    (tmp_path / "host.txt").write_text("only on the host")
    write_task(tmp_path / "task", {**OWN, "tests/hidden.txt": "marker-of-tests"})
    (task,) = read_tasks(tmp_path / "task").tasks
    look = LOOK.strip().replace("HOST", str(tmp_path / "host.txt"))
    places = "/app /etc /folders /home /job /logs /opt /root /tests /tmp /var /verifier"
    find = f"grep -rl marker-of-tests {places} 2>/dev/null"
    head = "---\nname: seen\ndescription: All that is here\n---"
    command = f"mkdir -p skills/seen; {{ echo '{head}'; {look}; {find}; }} > skills/seen/SKILL.md"
    settings = GrindSettings(**PLAIN, no_direct_answers=False)
    engine = Engine(SessionCommand(command), settings)
    step = engine.evolve(brain, [(task, make_row(task, 0.0))], 1)
    assert step["skills_added"] == ["seen"], step
    seen = brain.gate.read_workspace("evo-1")["skills/seen/SKILL.md"].decode()
    assert "PATH=" in seen and "manifest" not in seen
    for secret in ("SECRET_OF_HOST", "hunter2", "only on the host", "marker-of-tests", "test.sh"):
        assert secret not in seen
