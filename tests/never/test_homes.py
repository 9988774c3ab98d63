"""Homes of other programs: nothing there is overwritten unseen, mixed, or shown to others."""

from __future__ import annotations

from pathlib import Path

import pytest

from brain import Brain
from tests.cli.conftest import Call, cli, folder
from tests.support.agent_homes import skill_text, write_files

__all__ = ["cli", "folder"]


@pytest.fixture
def home(folder: Path) -> Path:
    """A home of Claude Code with two skills and a CLAUDE.md, adopted into `mind`."""
    files = {f"skills/{name}/SKILL.md": skill_text(name, name) for name in "ab"}
    home = write_files(folder / ".claude", {"projects/": "", "CLAUDE.md": "Rules.\n", **files})
    Brain.adopt(home, folder / "mind")
    return home


def write(brain: Path, files: dict[str, str]) -> None:
    write_files(brain, files)
    with Brain.open(brain) as opened:
        opened.snapshot("Edit")


def test_edits_that_wait_for_conflicts_are_never_overwritten_by_publishing(
    home: Path, cli: Call
) -> None:
    write(Path("mind"), {"CLAUDE.md": "Of the brain.\n", "skills/b/SKILL.md": "Of the brain.\n"})
    edits = {"CLAUDE.md": "Of the home.\n", "skills/a/SKILL.md": "Without conflict.\n"}
    write_files(home, edits)
    assert cli("adopt", str(home), "mind").status == 12

    for options in ((), ("--dry-run",), ("--overwrite",)):
        told = cli("-C", "mind", "publish", "--to", "claude", str(home), *options)
        assert told.status == 12 and "adopted/claude-home-claude-" in told.err
        assert "`brain merge --continue`" in told.err and "`brain merge --abort`" in told.err
    assert cli("-C", "mind", "merge", "--abort").status == 0
    told = cli("-C", "mind", "publish", "--to", "claude", str(home))
    assert told.status == 12 and "CLAUDE.md: was changed since it was adopted" in told.out
    assert {path: (home / path).read_text() for path in edits} == edits

    assert cli("adopt", str(home), "mind").status == 12
    cli("-C", "mind", "resolve", "CLAUDE.md", "--theirs")
    assert cli("-C", "mind", "merge", "--continue").status == 0
    assert cli("-C", "mind", "publish", "--to", "claude", str(home)).status == 0
    texts = {"skills/b/SKILL.md": "Of the brain.\n", **edits}
    assert {path: (home / path).read_text() for path in texts} == texts


def test_a_file_that_did_not_change_since_it_was_merged_is_published_after_an_abort(
    home: Path, cli: Call
) -> None:
    write(Path("mind"), {"CLAUDE.md": "Of the brain.\n", "skills/b/SKILL.md": "Of the brain.\n"})
    write_files(home, {"CLAUDE.md": "Of the home.\n"})
    assert cli("adopt", str(home), "mind").status == 12
    cli("-C", "mind", "merge", "--abort")
    write_files(home, {"CLAUDE.md": "Rules.\n"})
    assert cli("-C", "mind", "publish", "--to", "claude", str(home)).status == 0
    assert (home / "CLAUDE.md").read_text() == (home / "skills/b/SKILL.md").read_text()


def test_a_home_never_becomes_a_brain_by_adopting_it_inside_another_one(
    home: Path, cli: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(home, {"skills/c/SKILL.md": skill_text("c", "C.")})
    monkeypatch.chdir("mind/skills")
    assert cli("adopt", str(home)).status == 0 and Path("c/SKILL.md").exists()
    monkeypatch.chdir(home.parent)
    write_files(home, {"skills/d/SKILL.md": skill_text("d", "D.")})
    assert cli("-C", "mind", "adopt", str(home)).status == 0
    assert Path("mind/skills/d/SKILL.md").exists()
    names = (".brain", ".brainignore", "manifest.yaml")
    assert not any((home / name).exists() for name in names)
    assert cli("adopt", str(home)).status == 0 and (home / ".brain").is_dir()
    monkeypatch.chdir(home)
    assert cli("adopt", ".").out.startswith("Nothing changed since claude-home at ")
