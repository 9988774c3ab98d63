"""Collections and projects of skills in the layouts that are met in public repositories."""

from pathlib import Path

import pytest

from brain import Brain, results
from brain.adopting import preview_adoption, skill_search
from brain.errors import InvalidInput
from tests.support.agent_homes import make_claude_home, skill_text, write_files
from tests.support.git_repositories import GitRepository

WILD = {
    "plugins": ("plugins/db/skills/migrate", "plugins/web/skills/css/grid"),
    "sections": ("finance/tax", "finance/tax/skills/vat", "team/product/spec", "solo"),
    "hidden": ("skills/.curated/plan", "skills/.system/creator", ".agents/skills/lint"),
    "with an example": ("skills/pdf", "template"),
}
"""Folders of skills, by what a collection is like."""


def make_skills(root: Path, folders: tuple[str, ...]) -> Path:
    """Write a skill with a script into each folder, and a README beside them."""
    write_files(root, {"README.md": "About.\n", "docs/guide.md": "How.\n"})
    for folder in folders:
        name = folder.rpartition("/")[2]
        files = {"SKILL.md": skill_text(name, f"Do {name}."), "scripts/run.sh": "exit\n"}
        write_files(root / folder, files)
    return root


def taken_skills(done: results.Adopted) -> set[str]:
    """Return the folders of the source whose SKILL.md was adopted as a skill."""
    return {
        row.source.removesuffix("/SKILL.md")
        for row in done.taken
        if row.source.endswith("SKILL.md") and skill_search.is_skill_path(row.path)
    }


@pytest.mark.parametrize("layout", WILD)
def test_every_skill_of_a_collection_is_adopted_with_its_files(tmp_path, layout):
    root = make_skills(tmp_path / "collection", WILD[layout])
    done = Brain.adopt(root, tmp_path / "brain")
    assert taken_skills(done) == set(WILD[layout])
    with Brain.open(tmp_path / "brain") as brain:
        assert len(brain.skills.list()) == len(WILD[layout]) and brain.status().clean
        assert sum(info.path.endswith("run.sh") for info in brain.files.list()) == len(WILD[layout])
    assert not Brain.adopt(root, tmp_path / "brain").changed


@pytest.mark.parametrize("layout", WILD)
def test_a_history_has_the_skills_that_its_checkout_has(tmp_path, layout):
    root = make_skills(tmp_path / "collection", WILD[layout])
    now = preview_adoption(root, tmp_path / "brain", "agentskills")
    files = {place.path: place.source for place in now.taken}
    files_there = [path for path in root.rglob("*") if path.is_file()]
    GitRepository(root).commit(
        {path.relative_to(root).as_posix(): path.read_bytes() for path in files_there}
    )
    done = Brain.adopt(root, tmp_path / "brain", "git")
    assert {place.path: place.source for place in done.taken} == files


@pytest.mark.parametrize("mark", ["CLAUDE.md", "GEMINI.md", ".claude/rules/a.md", "AGENTS.md"])
def test_the_files_of_a_program_hide_no_skill(tmp_path, mark):
    root = make_skills(tmp_path / "collection", WILD["plugins"])
    write_files(root, {mark: "Be brief.\n"})
    done = Brain.adopt(root, tmp_path / "brain")
    assert taken_skills(done) == set(WILD["plugins"])


def test_a_project_of_several_programs_is_adopted_as_one(tmp_path):
    root = make_skills(tmp_path / "app", (".claude/skills/fmt", ".codex/skills/lint", "skills/x"))
    write_files(root, {"CLAUDE.md": "Be brief.\n", ".gemini/commands/ship.toml": "prompt = ''\n"})
    done = Brain.adopt(root, tmp_path / "brain")
    assert done.kind == "project"
    assert {place.path for place in done.taken if "scripts" not in place.path} == {
        *("CLAUDE.md", "prompts/commands/ship.toml"),
        *("skills/fmt/SKILL.md", "skills/lint/SKILL.md", "skills/x/SKILL.md"),
    }


def test_skills_of_one_path_in_a_brain_are_kept_apart(tmp_path):
    folders = (".claude/skills/fmt", "skills/fmt", ".curated/fmt", "curated/fmt")
    root = make_skills(tmp_path / "app", folders)
    done = Brain.adopt(root, tmp_path / "brain", "claude")
    assert taken_skills(done) == set(folders)


def test_hidden_folders_above_a_skill_give_nothing_else(tmp_path):
    root = make_skills(tmp_path / "one", ("sub", ".claude/skills/x"))
    write_files(root, {"SKILL.md": skill_text("one", "One."), ".claude/notes.md": "no\n"})
    done = Brain.adopt(root, tmp_path / "brain", "agentskills")
    assert taken_skills(done) == {"SKILL.md", "sub", ".claude/skills/x"}
    assert ".claude/notes.md" not in {place.source for place in done.taken}


def test_skills_that_stay_out_are_counted_with_the_reason(tmp_path):
    home = make_claude_home(tmp_path / ".claude")
    make_skills(home / "plugins/cache", ("a/skills/one", "a/skills/two"))
    make_skills(home / "elsewhere", ("three",))
    messages = {row.path: row.message for row in preview_adoption(home, tmp_path / "x").left_out}
    assert messages["plugins"] == "comes with the program, with 2 skills"
    assert messages["elsewhere"] == "not a part of a brain, with 1 skill"


def test_a_search_that_stops_says_so(tmp_path, monkeypatch):
    root = make_skills(tmp_path / "collection", WILD["sections"])
    write_files(root, {"CLAUDE.md": "Be brief.\n"})
    monkeypatch.setattr(skill_search, "MAX_SEARCHED", 8)
    done = preview_adoption(root, tmp_path / "brain")
    assert "not_searched" in {row.code for row in done.left_out}


def test_the_folder_of_a_user_is_not_searched_for_skills(tmp_path):
    make_claude_home(tmp_path / "user/.claude")
    make_skills(tmp_path / "user/code", ("skills/one",))
    with pytest.raises(InvalidInput, match="does not look like anything") as caught:
        preview_adoption(tmp_path / "user", tmp_path / "brain")
    assert ".claude" in caught.value.hint
