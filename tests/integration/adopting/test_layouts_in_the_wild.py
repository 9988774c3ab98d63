"""Layouts as they are found."""

import os
import subprocess
from pathlib import Path

import pytest

from brain import Brain, results
from brain.adopting import skill_search
from brain.errors import InvalidInput
from tests.support.agent_homes import make_claude_home, make_claude_project, skill_text, write_files
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
def test_a_url_gives_the_skills_that_its_checkout_has(tmp_path, layout):
    root = make_skills(tmp_path / "collection", WILD[layout])
    now = Brain.preview_adoption(root, tmp_path / "brain", "agentskills")
    files = {place.path: place.source for place in now.taken}
    files_there = [path for path in root.rglob("*") if path.is_file()]
    GitRepository(root).commit(
        {path.relative_to(root).as_posix(): path.read_bytes() for path in files_there}
    )
    done = Brain.adopt(root.as_uri(), tmp_path / "brain")
    assert {place.path: place.source for place in done.taken} == files


@pytest.mark.parametrize("mark", ["CLAUDE.md", "GEMINI.md", ".claude/rules/a.md", "AGENTS.md"])
def test_the_files_of_a_program_hide_no_skill(tmp_path, mark):
    root = make_skills(tmp_path / "collection", WILD["plugins"])
    write_files(root, {mark: "Be brief.\n"})
    done = Brain.adopt(root, tmp_path / "brain")
    assert taken_skills(done) == set(WILD["plugins"])


@pytest.mark.parametrize(
    ("marks", "kind"),
    [
        (("CLAUDE.md", "mcp_config.json"), "claude"),
        (("mcp_config.json",), "agentskills"),
        (("config.json", "agents/a.md"), "agentskills"),
        (("projects.json", "mcp_config.json"), "agentskills"),
        (("CLAUDE.md", "GEMINI.md", "config.toml", "argv.json"), "project"),
    ],
)
def test_weak_marks_of_homes_make_no_collection_ambiguous(tmp_path, marks, kind):
    root = make_skills(tmp_path / "collection", WILD["plugins"])
    write_files(root, dict.fromkeys(marks, "{}\n"))
    done = Brain.adopt(root, tmp_path / "brain")
    assert done.kind == kind and taken_skills(done) == set(WILD["plugins"])


def test_a_mark_of_a_home_beside_another_program_leaves_a_repository_a_collection(tmp_path):
    root = make_skills(tmp_path / "collection", ("skills/pdf", "skills/csv"))
    write_files(root, {"CLAUDE.md": "Be brief.\n", "mcp_config.json": "{}\n"})
    GitRepository(root)
    done = Brain.adopt(root, tmp_path / "brain")
    assert done.kind == "agentskills" and taken_skills(done) == {"skills/pdf", "skills/csv"}


def test_a_folder_that_is_the_home_of_two_programs_stays_a_question(tmp_path):
    root = make_skills(tmp_path / "both", ("skills/pdf",))
    names = ("state.db", "cron/a", "google_accounts.json", "oauth_creds.json", "settings.json")
    write_files(root, dict.fromkeys(names, "{}\n"))
    with pytest.raises(InvalidInput, match="may be") as caught:
        Brain.adopt(root, tmp_path / "brain")
    assert caught.value.code == "ambiguous_source" and "--as" in caught.value.hint


def test_a_repository_without_a_commit_is_the_folder_that_it_is(tmp_path):
    root = make_skills(tmp_path / "new", ("skills/pdf",))
    GitRepository(root)
    assert taken_skills(Brain.adopt(root, tmp_path / "brain")) == {"skills/pdf"}


def test_what_instructions_import_and_stays_out_is_named_with_the_command(tmp_path):
    root = make_skills(tmp_path / "app", (".claude/skills/fmt",))
    text = (
        "@AGENTS.md and @docs/style.md, not @ada or `@docs/code.md`.\n@~/.claude/me.md @none.md\n"
    )
    names = ("AGENTS.md", "docs/style.md", "docs/code.md")
    write_files(root, dict.fromkeys(names, "Be brief.\n") | {"CLAUDE.md": text})
    done = Brain.adopt(root, tmp_path / "brain")
    imports = {row.path: row.message for row in done.left_out if row.code == "imported"}
    assert set(imports) == {"docs/style.md", "~/.claude/me.md"}
    told, command = imports["docs/style.md"].split("; take it with ")
    assert told == "imported by CLAUDE.md"
    subprocess.run(command.replace("BRAIN", str(tmp_path / "brain")), shell=True, check=True)
    assert (tmp_path / "brain/docs/style.md").read_text() == "Be brief.\n"


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
    messages = {
        row.path: row.message for row in Brain.preview_adoption(home, tmp_path / "x").left_out
    }
    assert messages["plugins"] == "comes with the program, with 2 skills"
    assert messages["elsewhere"] == "not a part of a brain, with 1 skill"


def test_a_search_that_stops_says_so(tmp_path, monkeypatch):
    root = make_skills(tmp_path / "collection", WILD["sections"])
    write_files(root, {"CLAUDE.md": "Be brief.\n"})
    monkeypatch.setattr(skill_search, "MAX_SEARCHED", 8)
    done = Brain.preview_adoption(root, tmp_path / "brain")
    assert "not_searched" in {row.code for row in done.left_out}


def test_the_folder_of_a_user_is_not_searched_for_skills(tmp_path):
    make_claude_home(tmp_path / "user/.claude")
    make_skills(tmp_path / "user/code", ("skills/one",))
    with pytest.raises(InvalidInput, match="does not look like anything") as caught:
        Brain.preview_adoption(tmp_path / "user", tmp_path / "brain")
    assert ".claude" in caught.value.hint


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
    done = Brain.preview_adoption(user / ".claude", tmp_path / "brain")
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
