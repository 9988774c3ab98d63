from pathlib import Path

import pytest

from tests.support import agent_homes
from tests.support.cases import read_cases

CASES = read_cases(__file__)


@pytest.fixture
def home(folder):
    """A Hermes home in the current folder."""
    return agent_homes.make_hermes_home(folder / "home")


def test_what_was_taken_and_left_out_is_said_by_reason(home, cli):
    told = cli("adopt", "home", "copy")
    assert told.status == 0
    assert told.out.startswith("Adopted 2 skills, 7 files from hermes at ")
    assert "  secrets: .env, auth.json\n" in told.out
    assert "  backups of the program: skills/.curator_backups\n" in told.out


def test_a_dry_run_tells_the_same_and_writes_nothing(home, cli):
    before = sorted(home.rglob("*"))
    told = cli("adopt", "home", "copy", "--dry-run")
    assert told.out.startswith("Would adopt 2 skills, 7 files from hermes at ")
    assert "  secrets: .env, auth.json\n" in told.out
    assert cli("adopt", "home", "--dry-run").status == 0
    assert sorted(home.rglob("*")) == before and not Path("copy").exists()


def test_nothing_is_told_to_be_new_where_nothing_changed(home, cli):
    cli("adopt", "home", "copy")
    told = cli("adopt", "home", "copy")
    assert told.out.startswith("Nothing changed since hermes at ") and told.out.count("\n") == 1


def test_a_change_on_both_sides_is_asked_about(home, cli):
    cli("adopt", "home", "copy")
    (home / "SOUL.md").write_text("You are bold.")
    Path("copy/SOUL.md").write_text("You are shy.")
    cli("-C", "copy", "snapshot")

    told = cli("adopt", "home", "copy")

    assert told.status == 12 and "SOUL.md" in told.out
    assert told.err.splitlines()[1].startswith("Hint: resolve them with `brain resolve`")
    assert Path("copy/SOUL.md").read_text() == "You are shy."
    assert cli("-C", "copy", "resolve", "SOUL.md", "--theirs").status == 0
    assert cli("-C", "copy", "merge", "--continue").status == 0
    assert Path("copy/SOUL.md").read_text() == "You are bold."


@pytest.mark.parametrize(
    ("call", "error", "hint"), CASES["test_what_cannot_be_adopted_says_why_and_what_to_do"]
)
def test_what_cannot_be_adopted_says_why_and_what_to_do(home, cli, call, error, hint):
    agent_homes.write_files(Path("src"), {"main.c": ""})
    agent_homes.write_files(Path(".hermes"), {"SOUL.md": ""})
    agent_homes.write_files(Path("both"), {"state.db": "", "todos/": ""})
    agent_homes.make_claude_project(Path("project"))
    told = cli("adopt", *call)
    assert told.status == 1 and error in told.err
    assert f"Hint: {hint}" in told.err


def test_the_kind_can_be_said_where_a_place_has_two(folder, cli):
    agent_homes.write_files(
        Path("both"),
        {"CLAUDE.md": "", ".agents/skills/a/SKILL.md": agent_homes.skill_text("a", "b")},
    )
    for kind, count in (("claude", "1 skill, 2 files "), ("codex", "1 skill, 1 file ")):
        told = cli("adopt", "both", "copy", "--as", kind)
        assert told.status == 0 and told.out.startswith(f"Adopted {count}from {kind} at ")


def test_skills_beside_a_home_in_place_are_named_with_a_command_that_copies_them(folder, cli):
    text = agent_homes.skill_text
    home = agent_homes.write_files(
        folder / ".claude",
        {
            "projects/": "",
            "skills/a/SKILL.md": text("a", "A."),
            "my tools/b/SKILL.md": text("b", "B."),
            "backups/c/SKILL.md": text("c", "C."),
        },
    )
    told = cli("adopt", ".claude")
    assert "  not a part of a brain, with 1 skill: my tools\n" in told.out
    assert told.out.count("Hint:") == 1
    hint = f"Hint: `brain adopt '{home}/my tools' {home}` copies its skills into the brain"
    assert hint in told.out
    assert "Hint: `brain adopt 'my tools' .`" in cli("-C", ".claude", "status").err
    assert cli("adopt", f"{home}/my tools", str(home)).status == 0
    listed = cli("-C", ".claude", "skill", "list", "--json").document["skills"]
    assert [skill["slug"] for skill in listed] == ["a", "b"]


def test_a_folder_of_skills_in_place_names_the_command_for_those_elsewhere(folder, cli):
    files = {
        f"{place}/SKILL.md": agent_homes.skill_text(place[-1], "S.")
        for place in ("skills/a", "tools/skills/b")
    }
    agent_homes.write_files(folder / "all", files)
    told = cli("adopt", "all")
    place = folder / "all"
    assert f"Hint: `brain adopt {place}/tools/skills {place}` copies" in told.out
    assert cli("adopt", f"{place}/tools/skills", str(place)).status == 0
    listed = cli("-C", "all", "skill", "list", "--json").document["skills"]
    assert [skill["slug"] for skill in listed] == ["a", "b"]
