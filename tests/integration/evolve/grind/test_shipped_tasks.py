"""The tasks of examples/grind: proven, and solved by those who know the lesson of their family."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from brain.gating.held_out import is_held_out
from brain.sandbox.find_sandbox import find_sandbox
from brain.solving.check import check_task, run_task
from brain.solving.solver import SessionCommand, Skill
from brain.solving.task_session import TaskSessions
from brain.tasks.task_folders import read_tasks

EXAMPLE = Path(__file__).parents[4] / "examples/grind"
TASKS = {task.name: task for task in read_tasks(EXAMPLE).tasks}
LEARNER, EVOLVER = ((EXAMPLE / f"{name}.sh").read_text("utf-8") for name in ("learner", "evolver"))


def category_of(name):
    settings = tomllib.loads((EXAMPLE / "tasks" / name / "task.toml").read_text("utf-8"))
    return settings["metadata"]["category"]


def family_of(name):
    return name.removeprefix(f"{category_of(name)}-").partition("-")[2]


FAMILIES = list(dict.fromkeys(map(family_of, TASKS)))


def read_expected(name):
    return json.loads((EXAMPLE / "tasks" / name / "tests/expected.json").read_text("utf-8"))


def observe(name, cycle=2, result="FAIL"):
    quoted = "".join(f"> {line}\n" for line in TASKS[name].instruction.splitlines())
    head = f"## Task {name} (category {category_of(name)}), cycle {cycle}: {result}\n"
    return f"{head}failure_class: test_fail\nfailed tests: test_a\ntask:\n{quoted}\n"


def evolve(folder, *sections):
    """Have the evolver work in a folder, and return the texts of all skills there."""
    (folder / "evolution").mkdir(exist_ok=True)
    observation = "\n".join(("# Observation 1", *sections))
    (folder / "evolution/current_observation.md").write_text(observation, "utf-8")
    subprocess.run(["bash", "-c", EVOLVER], cwd=folder, check=True, capture_output=True)
    found = sorted(folder.glob("skills/*/SKILL.md"))
    return {path.parent.name: path.read_text("utf-8") for path in found}


def solve(name, folder, skills):
    """Have the learner work on a task outside of the sandbox; return the parts that are right."""
    work = folder / f"work-{name}"
    shutil.copytree(EXAMPLE / "tasks" / name / "files", work)
    subprocess.run(
        ["bash", "-c", LEARNER],
        cwd=work,
        input=TASKS[name].instruction,
        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "SKILLS": str(skills)},
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    answer = json.loads((work / "answer.json").read_text("utf-8"))
    expected = read_expected(name)
    return [part for part in expected if answer[part] == expected[part]]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """What the evolver leaves when the second task of each family has failed again."""
    folder = tmp_path_factory.mktemp("workspace")
    evolve(folder, *(observe(name) for name in TASKS if "-2-" in name))
    return folder


@pytest.fixture(scope="module")
def lessons(workspace):
    """Its skills, as they are put in front of a solver."""
    return [
        Skill(path.parent.name, "What to mind.", {"SKILL.md": path.read_bytes()})
        for path in sorted(workspace.glob("skills/*/SKILL.md"))
    ]


def test_tasks_and_scripts_are_what_the_generator_writes(tmp_path):
    readme = (EXAMPLE / "README.md").read_text("utf-8")
    seed, each = re.search(r"`tasks/` is what `--seed (\d+) --each (\d+)`", readme).groups()
    wanted = ("--seed", seed, "--each", each, "--scripts", tmp_path)
    command = (sys.executable, EXAMPLE / "families.py", tmp_path / "tasks", *wanted)
    subprocess.run(command, check=True)

    def read(folder):
        found = [*(folder / "tasks").rglob("*"), folder / "learner.sh", folder / "evolver.sh"]
        return {
            str(path.relative_to(folder)): path.read_bytes() for path in found if path.is_file()
        }

    written, shipped = read(tmp_path), read(EXAMPLE)
    assert [name for name in written if written[name] != shipped.get(name)] == []
    assert written.keys() == shipped.keys()
    assert sum(map(len, shipped.values())) < 400_000


def test_families_are_in_both_halves_and_share_no_instance():
    categories = Counter(category_of(name) for name in TASKS)
    assert len(TASKS) >= 60 and len(FAMILIES) >= 15 and len(categories) >= 5
    assert len({task.instruction for task in TASKS.values()}) == len(TASKS)
    held_out = Counter(
        family_of(name)
        for name, task in TASKS.items()
        if is_held_out({"task": name, "instruction": task.instruction})
    )
    assert held_out == dict.fromkeys(FAMILIES, len(TASKS) // len(FAMILIES) // 2)


@pytest.mark.parametrize("name", [name for name in TASKS if "-1-" in name])
def test_each_family_has_a_trap_that_its_lesson_avoids(tmp_path, workspace, name):
    naive = solve(name, tmp_path / "naive", tmp_path / "none")
    assert 0 < len(naive) < len(read_expected(name))
    assert solve(name, tmp_path / "expert", workspace / "skills") == [*read_expected(name)]


@pytest.fixture(scope="module")
def sandbox():
    return find_sandbox()


@pytest.mark.parametrize("name", TASKS)
def test_the_lesson_makes_the_difference_in_the_sandbox(sandbox, lessons, name):
    task = TASKS[name]
    assert check_task(sandbox, task)[2:5] == ("proven", 1, 0)
    sessions, learner = TaskSessions(sandbox, task), SessionCommand(LEARNER)
    naive, expert = run_task(sessions, learner), run_task(sessions, learner, lessons)
    assert 0 < naive.score.value < 1
    assert (expert.score.value, expert.attempt.was_read, expert.attempt.error) == (1, True, "")
    seen = [run.attempt.output.decode() for run in (naive, expert)]
    family = family_of(name)
    assert seen == [f"Solved as {family}, {word} its lesson.\n" for word in ("without", "with")]


@pytest.mark.parametrize(
    "command",
    ["ln -s /tests/expected.json answer.json", "mkdir answer.json", "echo [ > answer.json"],
)
def test_no_other_answer_passes_in_the_sandbox(sandbox, command):
    done = run_task(
        TaskSessions(sandbox, TASKS["small-programs-1-ranges"]), SessionCommand(command)
    )
    assert (done.score.value, done.attempt.error) == (0, "")


def test_an_evolver_learns_from_failures_that_it_knows_alone(tmp_path):
    shown = observe("text-1-fences").replace("List the headings", "Sing the headings")
    for section in (
        observe("small-programs-1-money", result="PASS"),
        shown,
        "## Write a skill for money-1\n",
    ):
        assert evolve(tmp_path, section) == {}
    texts = evolve(
        tmp_path,
        observe("small-programs-1-money"),
        observe("small-programs-2-money"),
        observe("log-forensics-1-zones"),
    )
    assert [text.count("\n- Half a cent") for text in texts.values()] == [0, 1]
    assert texts["small-programs"].startswith("---\nname: small-programs\ndescription: ")
    own = tmp_path / "skills/small-programs/SKILL.md"
    own.write_text("---\nname: small-programs\n---\nOur own text.\n")
    text = evolve(tmp_path, observe("small-programs-1-money"), observe("small-programs-1-order"))[
        "small-programs"
    ]
    assert "Our own text." in text and text.count("\n- ") == 2


def test_the_first_lesson_of_letters_is_useless(tmp_path):
    first = evolve(tmp_path, observe("text-1-letters", cycle=1))["text"]
    assert "instruction twice" in first and "NFC" not in first
    second = evolve(tmp_path, observe("text-1-letters", cycle=2))["text"]
    assert "instruction twice" not in second and "NFC" in second


def test_a_lesson_of_owners_harms_tasks_of_other_categories(tmp_path):
    skills, none = tmp_path / "skills", tmp_path / "none"
    text = evolve(tmp_path, observe("repositories-1-owners", cycle=1))["repositories"]
    assert "\n- The last line of OWNERS" in text and "\n- Answer every number" in text
    evolve(
        tmp_path,
        *(
            observe(name)
            for name in (
                "repositories-1-reverts",
                "repositories-1-generated",
                "repositories-1-releases",
            )
        ),
    )
    own = [name for name in TASKS if category_of(name) == "repositories"]
    assert [name for name in own if solve(name, tmp_path, skills) != [*read_expected(name)]] == []
    for name in ("small-programs-3-money", "small-programs-3-ranges"):
        assert solve(name, tmp_path / "before", none) and not solve(
            name, tmp_path / "after", skills
        )
    (skills / "repositories/SKILL.md").unlink()
    assert (
        "every number"
        not in evolve(tmp_path, observe("repositories-2-owners", cycle=1))["repositories"]
    )
