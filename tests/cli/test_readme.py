"""The commands of the README, run as a user pastes them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", (PROJECT / "README.md").read_text("utf-8"), re.M | re.S)
SKILL = "---\nname: fuzzing\ndescription: Write a fuzz test first\n---\n\nStart with a corpus.\n"


@pytest.fixture
def shell(tmp_path):
    """Return the environment of a new user who has an empty home, and `brain`."""
    home, programs = tmp_path / "home", tmp_path / "bin"
    home.mkdir()
    programs.mkdir()
    command = programs / "brain"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m brain_cli "$@"\n')
    command.chmod(0o755)
    (tmp_path / "empty").mkdir()
    own = {"HOME": str(home), "PATH": f"{programs}:/usr/bin:/bin", "COLUMNS": "100"}
    return {**{name: os.environ[name] for name in ("TMPDIR", "LANG") if name in os.environ}, **own}


@pytest.fixture
def claude_home(tmp_path):
    """Make what the second block needs: a home of Claude Code with a skill."""
    home = tmp_path / "home/.claude"
    (home / "skills/fuzzing").mkdir(parents=True)
    (home / "skills/fuzzing/SKILL.md").write_text(SKILL)
    (home / "projects").mkdir()
    return home


def paste(blocks: list[str], folder: Path, environment: dict[str, str]) -> str:
    """Run blocks in one shell, which stops at the first command that fails."""
    done = subprocess.run(
        ["/bin/sh", "-euxc", "".join(blocks)],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_five_commands_run_in_an_empty_folder_of_an_empty_home(tmp_path, shell):
    output = paste(BLOCKS[:1], tmp_path / "empty", shell)
    assert "reentrancy added at version 1" in output
    assert "1 modified" in output and "Read-only reentrancy" in output
    assert "Verified 3 snapshots" in output
    text = (tmp_path / "empty/skills/reentrancy/SKILL.md").read_text()
    assert text.endswith(
        "Look for external calls before writes.\nRead-only reentrancy counts too.\n"
    )


def test_all_that_needs_no_other_program_runs_in_one_shell(tmp_path, shell):
    output = paste([BLOCKS[0], BLOCKS[2]], tmp_path / "empty", shell)
    assert "Verified 3 snapshots" in output
    assert "brain" in (tmp_path / "home/.claude.json").read_text()


def test_the_other_commands_run_one_after_the_other(tmp_path, shell, claude_home):
    output = paste(BLOCKS[1:], tmp_path / "empty", shell)
    assert "▸ fuzzing: Write a fuzz test first" in output
    assert (claude_home / "skills/fuzzing/SKILL.md").read_text() == SKILL
    assert "brain" in (tmp_path / "home/.claude.json").read_text()


def test_the_block_that_needs_a_home_says_so():
    readme = (PROJECT / "README.md").read_text("utf-8")
    before, _, _ = readme.partition("```sh\nbrain adopt ~/.claude")
    assert "With a home of Claude Code" in before.rpartition("## ")[2]
    assert "~/.claude" not in BLOCKS[0] + BLOCKS[2]


def test_the_readme_is_short():
    assert len((PROJECT / "README.md").read_text("utf-8").splitlines()) <= 150
