"""The commands of the README, run as a user pastes them."""

from __future__ import annotations

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
def shell(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a new user who has a home of Claude Code and `brain`."""
    home, programs = tmp_path / "home", tmp_path / "bin"
    skill = home / ".claude/skills/fuzzing/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL)
    (home / ".claude/projects").mkdir()
    programs.mkdir()
    command = programs / "brain"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m brain_cli "$@"\n')
    command.chmod(0o755)
    (tmp_path / "empty").mkdir()
    return {**os.environ, "HOME": str(home), "PATH": f"{programs}:/usr/bin:/bin", "COLUMNS": "100"}


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


def test_the_first_screen_runs_in_an_empty_folder(tmp_path: Path, shell: dict[str, str]) -> None:
    output = paste(BLOCKS[:1], tmp_path / "empty", shell)
    assert "reentrancy added at version 1" in output
    assert "1 modified" in output and "Read-only reentrancy" in output
    assert "Verified 3 snapshots" in output
    text = (tmp_path / "empty/skills/reentrancy/SKILL.md").read_text()
    assert text.endswith(
        "Look for external calls before writes.\nRead-only reentrancy counts too.\n"
    )


def test_the_other_commands_run_one_after_the_other(tmp_path: Path, shell: dict[str, str]) -> None:
    settings = tmp_path / "home/.claude.json"
    output = paste(BLOCKS[1:], tmp_path / "empty", shell)
    assert "▸ fuzzing: Write a fuzz test first" in output
    assert (tmp_path / "home/.claude/skills/fuzzing/SKILL.md").read_text() == SKILL
    assert "brain" in settings.read_text()


def test_the_readme_is_short() -> None:
    assert len((PROJECT / "README.md").read_text("utf-8").splitlines()) <= 150
