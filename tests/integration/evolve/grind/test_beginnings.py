"""How a grind begins: from the starter workspace, and by the objects of Python."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from brain import Brain, evolve
from brain.evolve.grind.library import make_front
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
    front = make_front(files, task, evolve.grind.GrindSettings(), None)
    assert front.slugs == STARTERS and front.preamble.startswith("You solve tasks")
    for path in folder.glob("skills/*/SKILL.md"):
        assert len(path.read_text("utf-8").splitlines()) <= 45


def test_the_objects_of_python_grind_in_the_sandbox(tmp_path):
    for family in ("day-first", "decimal-comma"):  # the first is for practice, the third held out
        for path in sorted(EXAMPLE.glob(f"tasks/*{family}*"))[::2]:
            shutil.copytree(path, tmp_path / path.name)
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
