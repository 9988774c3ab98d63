"""Skills that are links, as installers make them; nothing that was not named is read."""

import os
from pathlib import Path

import pytest

from brain import Brain, results
from brain.adopting import preview_adoption
from tests.support.agent_homes import make_claude_home, make_claude_project, skill_text, write_files

OUTSIDE = "outside of what was named"


@pytest.fixture
def user(tmp_path):
    """Make the folder of a user with a home of Claude Code, and skills shared by programs."""
    user = tmp_path / "user"
    make_claude_home(user / ".claude")
    make_skill(user / ".agents/skills/tea", "Make tea.")
    (user / ".claude/skills/tea").symlink_to("../../.agents/skills/tea")
    return user


def make_skill(folder: Path, about: str) -> Path:
    files = {"SKILL.md": skill_text(folder.name, about), "references/more.md": f"{about}\n"}
    return write_files(folder, files)


def reasons(done: results.Adopted) -> dict[str, str]:
    return {row.path: row.message for row in done.left_out}


def test_skills_that_an_installer_linked_come_along(user, tmp_path):
    done = Brain.adopt(user / ".claude", tmp_path / "brain")
    assert {row.path: row.source for row in done.taken if "tea" in row.path} == {
        "skills/tea/SKILL.md": "skills/tea/SKILL.md",
        "skills/tea/references/more.md": "skills/tea/references/more.md",
    }
    with Brain.open(tmp_path / "brain") as brain:
        assert {skill.slug for skill in brain.skills.list()} == {"greet", "tea"}
    (user / ".agents/skills/tea/references/more.md").write_text("With milk.\n")
    assert Brain.adopt(user / ".claude", tmp_path / "brain").changed
    text = (tmp_path / "brain/skills/tea/references/more.md").read_text()
    assert text == "With milk.\n"


def test_in_place_they_are_named_with_the_reason(user):
    done = Brain.adopt(user / ".claude")
    assert reasons(done)["skills/tea"] == "not in a folder of skills that the program reads"


def test_a_home_under_another_name_reads_nothing_beside_it(user, tmp_path):
    (user / ".claude").rename(user / "stranger")
    done = Brain.adopt(user / "stranger", tmp_path / "brain")
    command = f"brain adopt {user}/.agents/skills/tea BRAIN"
    assert command in reasons(done)["skills/tea"]
    assert not (tmp_path / "brain/skills/tea").exists()


@pytest.mark.parametrize("place", ["dev/tea", ".agents/other/tea", ".agents/skills"])
def test_other_skills_outside_are_not_read_but_named_with_the_command(user, tmp_path, place):
    make_skill(user / place, OUTSIDE)
    (user / ".claude/skills/out").symlink_to(user / place)
    done = Brain.adopt(user / ".claude", tmp_path / "brain")
    assert f"take it with brain adopt {user / place} BRAIN" in reasons(done)["skills/out"]
    assert not any(OUTSIDE in path.read_text() for path in (tmp_path / "brain").rglob("*.md"))


def test_shared_skills_that_are_a_link_themselves_are_not_read(user, tmp_path):
    (user / ".agents/skills").rename(user / "moved")
    (user / ".agents/skills").symlink_to(user / "moved")
    done = preview_adoption(user / ".claude", tmp_path / "brain")
    assert "a link to a skill outside" in reasons(done)["skills/tea"]


def test_links_inside_a_linked_skill_lead_nowhere_else(user, tmp_path):
    (user / "secret.md").write_text(OUTSIDE)
    inner = user / ".agents/skills/tea/references"
    (inner / "out.md").symlink_to(user / "secret.md")
    (inner / "loop").symlink_to("..")
    done = Brain.adopt(user / ".claude", tmp_path / "brain")
    assert {"skills/tea/references/out.md", "skills/tea/references/loop"} <= set(reasons(done))
    assert not any(OUTSIDE in path.read_text() for path in (tmp_path / "brain").rglob("*.md"))


def test_a_link_to_an_adopted_skill_is_that_skill(tmp_path):
    project = make_claude_project(tmp_path / "app")
    make_skill(project / ".agents/skills/lint", "Lint.")
    (project / ".claude/skills/lint").symlink_to("../../.agents/skills/lint")
    done = Brain.adopt(project, tmp_path / "brain", "claude")
    assert reasons(done)[".claude/skills/lint"] == "a link to a skill that is adopted"
    with Brain.open(tmp_path / "brain") as brain:
        assert [skill.path for skill in brain.skills.list() if skill.slug == "lint"] == [
            "skills/lint/SKILL.md"
        ]


def test_a_skill_file_may_be_a_link_to_a_file_of_the_folder(tmp_path):
    root = tmp_path / "app"
    write_files(root, {"commands/ship.md": skill_text("ship", "Ship it."), "CLAUDE.md": "Hi.\n"})
    for name, target in (("ship", "commands/ship.md"), ("gone", "commands/gone.md")):
        (root / ".claude/skills" / name).mkdir(parents=True)
        (root / f".claude/skills/{name}/SKILL.md").symlink_to(f"../../../{target}")
    done = Brain.adopt(root, tmp_path / "brain")
    text = (tmp_path / "brain/skills/ship/SKILL.md").read_text()
    assert text == skill_text("ship", "Ship it.")
    assert reasons(done)[".claude/skills/gone/SKILL.md"] == "a link to nothing"


def test_skills_outside_of_skills_are_named_in_place(tmp_path):
    root = tmp_path / "collection"
    make_skill(root / "skills/pdf", "Read PDF.")
    make_skill(root / "template", "Copy me.")
    done = Brain.adopt(root)
    assert reasons(done)["template"] == "not in a folder of skills that the program reads"
    assert os.listdir(root / "skills") == ["pdf"]
