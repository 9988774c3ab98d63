"""How a grind begins: from the starter workspace, and by the objects of Python."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from brain import Brain, evolve
from brain.evolve.grind.library import make_front
from brain.evolve.grind.workspace import list_skills
from brain.tasks.task_folders import read_tasks

EXAMPLE = Path(__file__).parents[4] / "examples/grind"
STARTERS = ["data-formats", "environment-discovery", "python-packages", "skill-usage"]


def test_a_copy_of_the_starter_workspace_is_a_brain_that_stands_in_front_of_a_solver(tmp_path):
    folder = Path(shutil.copytree(EXAMPLE / "workspace", tmp_path / "learner"))
    with Brain.init(folder) as brain:
        brain.snapshot()
        files = brain.gate.read_workspace()
        assert [skill.slug for skill in brain.skills.list()] == STARTERS
    task = read_tasks(EXAMPLE).tasks[0]
    front = make_front(files, list_skills(files), task, evolve.grind.GrindSettings(), None)
    assert front.slugs == STARTERS and front.preamble.startswith("You solve tasks")
    for path in folder.glob("skills/*/SKILL.md"):
        assert len(path.read_text("utf-8").splitlines()) <= 45


def copy_few_tasks(folder):
    for family in ("day-first", "decimal-comma"):  # one of each for practice, one held out
        found = {read_tasks(path).tasks[0].name: path for path in EXAMPLE.glob(f"tasks/*{family}*")}
        for name in sorted(found)[::2]:
            shutil.copytree(found[name], folder / name)


def test_make_grind_runs_the_example_in_the_sandbox(project, tmp_path):
    make = ["make", "--dry-run", "--always-make", "grind"]
    said = subprocess.run(make, cwd=project, check=True, stdout=subprocess.PIPE, encoding="utf-8")
    lines = [line.strip() for line in said.stdout.splitlines() if not line.startswith("make[")]
    assert lines[-1] == "BRAIN=.venv/bin/brain examples/grind/run"
    copy_few_tasks(tmp_path / "tasks")
    for name in ("run", "learner.sh", "evolver.sh"):
        shutil.copy(EXAMPLE / name, tmp_path / name)
    program = str(Path(sys.executable).with_name("brain"))
    done = subprocess.run(
        [tmp_path / "run", tmp_path / "learner", "--json"],
        env={**os.environ, "BRAIN": program},
        check=True,
        stdout=subprocess.PIPE,
    )
    report = json.loads(done.stdout)
    assert report["result"] == "done" and report["final_score"] == 1
    assert [batch["gate"]["done"] for batch in report["batches"]] == ["provisional"]
    assert (report["compare"]["wins"], report["compare"]["losses"]) == (2, 0)


def test_the_objects_of_python_grind_in_the_sandbox(tmp_path):
    copy_few_tasks(tmp_path)
    command = [sys.executable, "-W", "error", EXAMPLE / "evolve.py", tmp_path, "1"]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
    assert said.startswith("final score 1.000, converged: False\nbatch 1: 0 passed at once, 2 in")
    assert "data-files proposed: " in said and "2 of 2 held-out cases got better" in said


def test_each_public_name_of_the_grind_is_found_and_no_other():
    grind = evolve.grind
    for name in grind._HOMES:
        assert getattr(grind, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'grid'"):
        _ = grind.grid  # type: ignore[attr-defined]
