"""Homes that were adopted, and get back what the brain changed since."""

import json
import os
from pathlib import Path

import pytest

from brain import Brain
from brain.adopting import publish
from brain.adopting.publish_manifest import RECORD_NAME
from brain.digest import blob_id
from brain.errors import InvalidInput
from tests.campaigns.publish_back import LAYOUTS, find_skills, read_home, run_layout
from tests.support.agent_homes import skill_text, write_files
from tests.support.planted_secrets import SECRET_MAKERS

ODD_SKILLS = {
    "1/SKILL.md": skill_text("second-brain", "Remember."),
    "2024/SKILL.md": "---\nname: 2024\ndescription: A year.\nversion: 1.0\n---\n\nText.\n",
    "My_Skill/SKILL.md": skill_text("My Skill", "Mine.", "author: me\ntags: [a, b]\n"),
    "my-skill/SKILL.md": skill_text("my-skill", "Of the same slug."),
    "crlf/SKILL.md": "---\r\nname: crlf\r\ndescription: Lines.\r\n---\r\n\r\nText.\r\n",
    "bom/SKILL.md": "\ufeff" + skill_text("bom", "A mark."),
    "none/SKILL.md": "No front matter.\n",
    "broken/SKILL.md": "---\nname: [\n---\n\nText.\n",
    "outer/SKILL.md": skill_text("outer", "Outer."),
    "outer/inner/SKILL.md": skill_text("inner", "Inner."),
    "outer/scripts/run.sh": "#!/bin/sh\n",
    "group/deep/SKILL.md": skill_text("deep", "In a group."),
    "group/README.md": "Of no skill.\n",
    "flat.md": skill_text("flat", "In one file."),
    "extra/SKILL.md": skill_text("extra", "More.", "model: opus\nversion: 3\n"),
}


def make_skills(folder: Path) -> None:
    """Write skills that publishing used to change."""
    write_files(folder, ODD_SKILLS)
    for name, text in ODD_SKILLS.items():
        (folder / name).write_bytes(text.encode())
    (folder / "outer/scripts/run.sh").chmod(0o755)
    (folder / "bom/SKILL.md").chmod(0o755)
    (folder / "outer/again").symlink_to("scripts/run.sh")


@pytest.fixture
def home(tmp_path):
    made = write_files(tmp_path / ".claude", {"CLAUDE.md": "All.\n", "projects/": ""})
    make_skills(made / "skills")
    return made


@pytest.fixture
def brain(tmp_path, home):
    Brain.adopt(home, tmp_path / "brain")
    return Brain.open(tmp_path / "brain")


def edit(brain: Brain, path: str, text: str | None) -> None:
    place = brain.root / path
    if text is None:
        place.unlink()
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())
    brain.snapshot("Edit")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_only_the_changed_skill_of_an_adopted_home_has_other_bytes(tmp_path, layout):
    collection = tmp_path / "of-others"
    make_skills(collection / "tools/skills")
    skills = find_skills(collection, None)
    assert len(skills) == 11
    done = run_layout(tmp_path / "run", LAYOUTS[layout], collection, skills, 7)
    assert (done.moved, done.bytes_moved, done.problems) == ([], 0, [])
    assert done.skills >= 11


def test_publishing_without_a_change_writes_nothing(home, brain):
    before = read_home(home)
    done = publish(brain, "claude", home)
    assert (done.written, done.removed, done.conflicts, done.left_out) == ([], [], [], [])
    assert done.unchanged == len(before) and read_home(home) == before


@pytest.mark.parametrize("name", ["1", "2024", "My_Skill", "crlf", "bom", "outer", "extra"])
def test_a_changed_skill_gets_the_change_and_nothing_else(home, brain, name):
    place = home / "skills" / name / "SKILL.md"
    before = place.read_bytes()
    added = before + b"One more line.\n"
    edit(brain, f"skills/{name}/SKILL.md", added.decode())
    assert publish(brain, "claude", home).written == [f"skills/{name}/SKILL.md"]
    assert place.read_bytes() == added
    assert os.access(place, os.X_OK) == (name == "bom")


def test_a_new_file_of_a_skill_goes_into_the_folder_the_skill_was_adopted_from(home, brain):
    edit(brain, "skills/My_Skill/references/a.md", "More.\n")
    edit(brain, "skills/group/deep/b.md", "More.\n")
    assert publish(brain, "claude", home).written == [
        "skills/My_Skill/references/a.md",
        "skills/group/deep/b.md",
    ]


def test_a_new_skill_is_copied_too(home, brain):
    text = skill_text("Sixteen", "A number.", "version: 1.10\n")
    edit(brain, "skills/0x10/SKILL.md", text)
    assert publish(brain, "claude", home).written == ["skills/0x10/SKILL.md"]
    assert (home / "skills/0x10/SKILL.md").read_text() == text
    assert not Brain.adopt(home, brain.root).changed


def test_what_the_brain_removed_is_removed_from_the_home(home, brain):
    edit(brain, "skills/outer/scripts/run.sh", None)
    brain.skills.delete("1")
    done = publish(brain, "claude", home)
    assert done.removed == ["skills/1/SKILL.md", "skills/outer/scripts/run.sh"]
    assert not done.written and not (home / "skills/1").exists()
    assert not Brain.adopt(home, brain.root).changed


def test_a_home_with_a_skill_that_the_brain_removed_is_adopted_again(home, brain):
    brain.skills.delete("1")
    assert not Brain.adopt(home, brain.root).changed
    assert not (brain.root / "skills/1").exists() and (home / "skills/1/SKILL.md").exists()


def test_nothing_is_removed_for_a_snapshot_from_before_the_adoption(tmp_path, home):
    root = write_files(tmp_path / "brain", {"skills/a/SKILL.md": skill_text("a", "A.")})
    with Brain.init(root) as brain:
        earlier = brain.snapshot().snapshot
        Brain.adopt(home, root)
        done = publish(brain, "claude", home, rev=earlier)
        assert (done.written, done.removed) == (["skills/a/SKILL.md"], [])


@pytest.mark.parametrize("what", ["changed", "removed", "made a link"])
@pytest.mark.parametrize("also_here", [True, False], ids=["changed here too", "as it was here"])
def test_what_somebody_changed_in_the_home_meanwhile_is_a_conflict(home, brain, what, also_here):
    place = home / "skills/1/SKILL.md"
    place.unlink()
    if what == "changed":
        place.write_text("mine\n")
    elif what == "made a link":
        place.symlink_to("../extra/SKILL.md")
    if also_here:
        edit(brain, "skills/1/SKILL.md", skill_text("second-brain", "Newer."))
    edit(brain, "skills/extra/SKILL.md", skill_text("extra", "Newer."))
    before = read_home(home)
    done = publish(brain, "claude", home)
    verb = "removed" if what == "removed" else "changed"
    assert [(row.path, row.message) for row in done.conflicts] == [
        ("skills/1/SKILL.md", f"was {verb} since it was adopted")
    ]
    assert read_home(home) == before and not (home / RECORD_NAME).exists()
    assert publish(brain, "claude", home, overwrite=True).written


def test_a_skill_removed_here_and_changed_there_is_a_conflict(home, brain):
    (home / "skills/1/SKILL.md").write_text("mine\n")
    brain.skills.delete("1")
    assert [row.path for row in publish(brain, "claude", home).conflicts] == ["skills/1/SKILL.md"]
    assert (home / "skills/1/SKILL.md").read_text() == "mine\n"


def test_a_change_in_the_home_that_was_adopted_is_no_conflict(home, brain):
    publish(brain, "claude", home)
    place = home / "skills/1/SKILL.md"
    place.write_text(place.read_text() + "Mine.\n")
    Brain.adopt(home, brain.root)
    edit(brain, "skills/1/SKILL.md", place.read_text() + "Ours.\n")
    done = publish(brain, "claude", home)
    assert (done.written, done.conflicts) == (["skills/1/SKILL.md"], [])
    assert place.read_text().endswith("Mine.\nOurs.\n")


def test_a_change_of_a_copied_skill_that_was_adopted_is_no_conflict(tmp_path, brain):
    out = tmp_path / "out"
    publish(brain, "codex", out)
    place = out / ".agents/skills/1/SKILL.md"
    place.write_text(place.read_text() + "Mine.\n")
    Brain.adopt(out, brain.root)
    edit(brain, "skills/1/SKILL.md", (brain.root / "skills/1/SKILL.md").read_text() + "Ours.\n")
    done = publish(brain, "codex", out)
    assert (done.written, done.conflicts) == ([".agents/skills/1/SKILL.md"], [])
    assert place.read_text().endswith("Mine.\nOurs.\n")


def test_a_skill_added_in_the_home_later_keeps_its_bytes_too(home, brain):
    publish(brain, "claude", home)
    text = skill_text("Other Name", "Later.", "author: me\n")
    write_files(home, {"skills/Later_One/SKILL.md": text})
    Brain.adopt(home, brain.root)
    edit(brain, "skills/Later_One/SKILL.md", text + "More.\n")
    assert publish(brain, "claude", home).written == ["skills/Later_One/SKILL.md"]
    assert (home / "skills/Later_One/SKILL.md").read_text() == text + "More.\n"


def test_a_name_that_the_client_refuses_is_told_and_stays(home, tmp_path):
    Brain.adopt(home / "skills", tmp_path / "other")
    with Brain.open(tmp_path / "other") as brain:
        done = publish(brain, "agentskills", home / "skills")
        assert not done.written
        messages = {row.path: row.message for row in done.notices}
        assert messages["1/SKILL.md"].startswith("its name is second-brain; agentskills requires")
        assert "outer/SKILL.md" not in messages


def test_what_an_earlier_version_rendered_becomes_what_the_brain_has(home, brain):
    publish(brain, "claude", home)
    rendered = b"---\nname: '1'\ndescription: Remember.\n---\n"
    (home / "skills/1/SKILL.md").write_bytes(rendered)
    record = json.loads((home / RECORD_NAME).read_text())
    for form in ("kept", "strict", "renamed"):
        row = record["published"][0]["files"]["skills/1/SKILL.md"]
        row |= {"form": f"2:claude-home:{form}", "state": blob_id(rendered).hex()}
        (home / RECORD_NAME).write_text(json.dumps(record))
        (home / "skills/1/SKILL.md").write_bytes(rendered)
        assert not Brain.adopt(home, brain.root).changed
        done = publish(brain, "claude", home)
        assert (done.written, done.conflicts) == (["skills/1/SKILL.md"], [])
        text = brain.files.read("skills/1/SKILL.md")
        assert (home / "skills/1/SKILL.md").read_bytes() == text


def test_a_skill_held_back_is_not_taken_for_a_change_of_the_home(home, brain):
    import random

    secret = SECRET_MAKERS["npm-token"](random.Random(7))
    text = skill_text("second-brain", "Remember.") + f"Use {secret}\n"
    edit(brain, "skills/1/SKILL.md", text)
    done = publish(brain, "claude", home)
    assert [row.path for row in done.held_back] == ["skills/1/SKILL.md"] and not done.written
    assert not Brain.adopt(home, brain.root).changed
    assert brain.files.read("skills/1/SKILL.md").decode() == text


def test_what_may_be_a_secret_and_was_in_the_home_before_holds_nothing_back(tmp_path):
    import random

    secret = SECRET_MAKERS["npm-token"](random.Random(7))
    text = skill_text("a", "A.") + f"Use {secret}\n"
    home = write_files(tmp_path / ".claude", {"projects/": "", "skills/a/SKILL.md": text})
    with pytest.raises(InvalidInput):
        Brain.adopt(home, tmp_path / "brain")
    allowed = Brain.preview_adoption(home, tmp_path / "brain").left_out[0].message
    Brain.adopt(home, tmp_path / "brain", allow=[allowed.rpartition("allow ")[2]])
    with Brain.open(tmp_path / "brain") as brain:
        edit(brain, "skills/a/SKILL.md", text + "More.\n")
        done = publish(brain, "claude", home)
        assert (done.written, done.held_back) == (["skills/a/SKILL.md"], [])


def test_a_home_whose_branch_was_deleted_keeps_its_bytes_by_the_record(home, brain):
    publish(brain, "claude", home)
    (branch,) = [row.name for row in brain.branches.list().branches if "/" in row.name]
    brain.branches.delete(branch)
    before = read_home(home)
    edit(brain, "skills/1/SKILL.md", skill_text("second-brain", "Newer."))
    assert publish(brain, "claude", home).written == ["skills/1/SKILL.md"]
    after = read_home(home)
    assert [name for name in before if before[name] != after[name]] == ["skills/1/SKILL.md"]


def test_a_project_of_one_client_gets_copies_for_another(tmp_path):
    project = write_files(
        tmp_path / "project",
        {"CLAUDE.md": "All.\n", ".claude/skills/1/SKILL.md": skill_text("second-brain", "B.")},
    )
    Brain.adopt(project, tmp_path / "brain")
    with Brain.open(tmp_path / "brain") as brain:
        assert publish(brain, "codex", project).written == [".agents/skills/1/SKILL.md"]
        assert not publish(brain, "claude", project).written


def test_a_skill_that_is_a_link_stays_one_and_is_written_through_it(tmp_path):
    shared = write_files(
        tmp_path / ".agents/skills",
        {"Linked/SKILL.md": skill_text("linked", "L."), "gone/SKILL.md": skill_text("gone", "G.")},
    )
    files = {"projects/": "", "skills/a/SKILL.md": skill_text("a", "A.")}
    home = write_files(tmp_path / ".claude", files)
    for name in ("Linked", "gone"):
        (home / "skills" / name).symlink_to(f"../../.agents/skills/{name}")
    Brain.adopt(home, tmp_path / "brain")
    with Brain.open(tmp_path / "brain") as brain:
        edit(brain, "skills/a/SKILL.md", skill_text("a", "Newer."))
        assert publish(brain, "claude", home).written == ["skills/a/SKILL.md"]
        edit(brain, "skills/Linked/SKILL.md", skill_text("linked", "Newer."))
        edit(brain, "skills/Linked/more.md", "More.\n")
        brain.skills.delete("gone")
        done = publish(brain, "claude", home)
        assert done.written == ["skills/Linked/SKILL.md", "skills/Linked/more.md"]
        assert not done.removed and not done.conflicts
        left_out = [row.path for row in done.left_out if row.code == "behind_link"]
        assert left_out == ["skills/gone/SKILL.md"]
        assert "Newer." in (shared / "Linked/SKILL.md").read_text()
        assert (shared / "Linked/more.md").exists() and (shared / "gone/SKILL.md").exists()
        assert (home / "skills/Linked").is_symlink()
        write_files(shared, {"Linked/more.md": "Edited there.\n"})
        edit(brain, "skills/Linked/more.md", "Edited here.\n")
        conflicts = publish(brain, "claude", home).conflicts
        assert [row.path for row in conflicts] == ["skills/Linked/more.md"]


@pytest.mark.parametrize(("mode", "made_executable"), [(0o600, 0o700), (0o640, 0o750)])
def test_a_file_that_is_written_back_keeps_its_permissions(home, brain, mode, made_executable):
    place = home / "skills/extra/SKILL.md"
    place.chmod(mode)
    edit(brain, "skills/extra/SKILL.md", skill_text("extra", "Newer."))
    assert publish(brain, "claude", home).written == ["skills/extra/SKILL.md"]
    assert place.stat().st_mode & 0o777 == mode
    (brain.root / "skills/extra/SKILL.md").chmod(0o755)
    brain.snapshot("Executable")
    assert publish(brain, "claude", home).written == ["skills/extra/SKILL.md"]
    assert place.stat().st_mode & 0o777 == made_executable


def test_private_files_of_a_home_adopted_in_place_stay_private(home):
    for path in ("CLAUDE.md", "skills/extra/SKILL.md", "skills/bom/SKILL.md"):
        (home / path).chmod(0o700 if "bom" in path else 0o600)
    write_files(home, {".brainignore": "*.log\n"})
    (home / ".brainignore").chmod(0o600)
    Brain.adopt(home)
    with Brain.open(home) as brain:
        before = brain.head
        brain.skills.upsert("extra", "Newer.\n")
        brain.memory.add("memory", "A fact.")
        edit(brain, "skills/bom/SKILL.md", skill_text("bom", "Newer."))
        brain.restore(before)
        brain.undo()
    private = {
        path.relative_to(home).as_posix()
        for path in home.rglob("*")
        if path.is_file() and ".brain/" not in str(path) and not path.stat().st_mode & 0o077
    }
    assert private == {".brainignore", "CLAUDE.md", "skills/bom/SKILL.md", "skills/extra/SKILL.md"}
