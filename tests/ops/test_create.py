"""Which brain is worked on, where one looks upwards for it."""

import shutil
import subprocess
import sys

import pytest

from brain import Brain, NoBrain, find_brain


@pytest.fixture
def outer(tmp_path):
    root = tmp_path / "agent"
    Brain.init(root).close()
    return root


def test_the_nearest_folder_upwards_is_found(outer):
    inside = outer / "skills/a/scripts"
    inside.mkdir(parents=True)
    assert find_brain(inside) == find_brain(outer) == outer


def test_a_store_planted_in_a_skill_is_not_used(outer, tmp_path):
    Brain.init(tmp_path / "hostile").close()
    skill = outer / "skills/a"
    skill.mkdir(parents=True)
    shutil.copytree(tmp_path / "hostile/.brain", skill / ".brain")
    (skill / "scripts").mkdir()
    assert find_brain(skill) == find_brain(skill / "scripts") == outer


def test_nor_is_one_planted_in_one_that_is_planted(outer):
    deep = outer
    for name in ("a", "b", "c"):
        deep = deep / name
        Brain.init(deep).close()
    assert find_brain(deep) == outer


UNREADABLE_OUTER = """
import os, tempfile
from pathlib import Path

from brain import Brain, find_brain

with tempfile.TemporaryDirectory() as folder:
    outer = Path(folder)
    outer.chmod(0o755)
    Brain.init(outer).close()
    Brain.init(outer / "inner").close()
    (outer / "inner/.brain").chmod(0o755)
    print(find_brain(outer / "inner") == outer)
    (outer / ".brain").chmod(0)
    user = os.geteuid()
    if user == 0:  # root may read everything
        os.seteuid(65534)
    print(find_brain(outer / "inner").name)
    try:
        find_brain(outer)
    except PermissionError:
        print("may not be read")
    os.seteuid(user)
    (outer / ".brain").chmod(0o700)
"""


def test_an_outer_one_that_the_user_may_not_read_is_no_obstacle():
    done = subprocess.run(
        [sys.executable, "-c", UNREADABLE_OUTER], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["True", "inner", "may not be read"]


def test_a_brain_in_a_folder_that_the_outer_one_leaves_out_is_its_own(outer):
    (outer / ".brainignore").write_text("/projects/\n")
    project = outer / "projects/one"
    Brain.init(project).close()
    (project / "skills/a").mkdir(parents=True)
    assert find_brain(project / "skills/a") == project


def test_rules_that_cannot_be_read_leave_nothing_out(outer):
    (outer / ".brainignore").write_text("[\n")
    Brain.init(outer / "skills/a").close()
    assert find_brain(outer / "skills/a") == outer


def test_a_control_folder_that_is_a_link_is_passed_over(outer, tmp_path):
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / ".brain").symlink_to(outer / ".brain")
    with pytest.raises(NoBrain):
        find_brain(alone)
    skill = outer / "skills/a"
    skill.mkdir(parents=True)
    (skill / ".brain").symlink_to(outer / ".brain")
    assert find_brain(skill) == outer
