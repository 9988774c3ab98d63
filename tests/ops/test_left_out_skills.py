"""Files called SKILL.md that are seen and not taken are counted, with the reason."""

from pathlib import Path

import pytest

from brain import Brain
from brain.folder import scan
from brain.folder.scan import BEHIND_LINK, LeftOutPlace
from brain.results import LeftOutSkills
from tests.support.brains import skill_text, write_file


@pytest.fixture
def home(tmp_path):
    """A folder with three skills that is outside of the brain."""
    folder = tmp_path / "home/.agents/skills"
    for name in ("near", "far", "wide"):
        (folder / name).mkdir(parents=True)
        (folder / name / "SKILL.md").write_text(skill_text(name))
    return folder


def link(brain: Brain, path: str, target: Path | str) -> None:
    place = brain.root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)


def test_links_to_skills_outside_are_named_with_their_targets(brain, home):
    link(brain, ".claude/skills/far", home / "far")
    link(brain, ".codex/skills", home)
    link(brain, "wide/SKILL.md", home / "wide/SKILL.md")
    link(brain, "notes", home.parent)
    link(brain, "gone", home / "gone")
    expected = [
        LeftOutSkills(".claude/skills/far", "link_outside", 1, str(home / "far")),
        LeftOutSkills(".codex/skills", "link_outside", 3, str(home)),
        LeftOutSkills("notes", "link_outside", 3, str(home.parent)),
        LeftOutSkills("wide/SKILL.md", "link_outside", 1, str(home / "wide/SKILL.md")),
    ]
    assert brain.skills.survey().left_out_skills == expected
    recorded = brain.snapshot()
    assert recorded.left_out_skills == expected
    codes = {notice.path for notice in recorded.notices if notice.code == "link_outside"}
    assert codes == {"gone", *(place.path for place in expected)}


def test_each_status_repeats_what_is_left_out(brain, home):
    link(brain, ".claude/skills/far", home / "far")
    write_file(brain, ".brainignore", "drafts/\n")
    write_file(brain, "lib/drafts/seer/SKILL.md", skill_text("seer"))
    brain.snapshot()
    for _ in range(3):
        status = brain.status()
        assert status.clean
        assert [(one.path, one.reason, one.files) for one in status.left_out_skills] == [
            (".claude/skills/far", "link_outside", 1),
            ("lib/drafts", "ignored", 1),
        ]
        brain.snapshot()
    (brain.root / ".claude/skills/far").unlink()
    (brain.root / ".brainignore").unlink()
    brain.snapshot()
    assert list(brain.status().left_out_skills) == []


def test_what_is_ignored_by_default_is_not_searched(brain):
    write_file(brain, "lib/node_modules/seer/SKILL.md", skill_text("seer"))
    write_file(brain, ".cache/seer/SKILL.md", skill_text("seer"))
    write_file(brain, ".brainignore", "*.log\n/seer/SKILL.md\n")
    write_file(brain, "seer/SKILL.md", skill_text("seer"))
    survey = brain.skills.survey()
    assert survey.skills == 0
    assert survey.left_out_skills == [LeftOutSkills("seer/SKILL.md", "ignored")]


def test_recorded_files_that_are_no_skills_are_named_by_the_snapshot(brain):
    write_file(brain, "SKILL.md", skill_text("all"))
    write_file(brain, "_drafts/seer/SKILL.md", skill_text("seer"))
    write_file(brain, ".archive/seer/SKILL.md", skill_text("seer"))
    write_file(brain, "agents/seer.md", "See.\n")
    link(brain, "lib/seer/SKILL.md", "../../agents/seer.md")
    link(brain, "lib/gone/SKILL.md", "../../skills/gone/SKILL.md")
    expected = [
        LeftOutSkills(".archive/seer/SKILL.md", "hidden_folder"),
        LeftOutSkills("SKILL.md", "top"),
        LeftOutSkills("_drafts/seer/SKILL.md", "hidden_folder"),
        LeftOutSkills("lib/gone/SKILL.md", "link"),
        LeftOutSkills("lib/seer/SKILL.md", "link"),
    ]
    assert brain.skills.survey().left_out_skills == expected
    assert brain.snapshot().left_out_skills == expected
    assert brain.skills.list() == [] and brain.verify(deep=True).findings == []


def test_a_survey_counts_the_skills_of_every_layout(brain):
    for path in ("a/SKILL.md", "skills/b.md", "plugins/c/skills/d/SKILL.md", "skills/e/SKILL.md"):
        write_file(brain, path, skill_text("x"))
    link(brain, ".claude/skills/e", "../../skills/e")
    survey = brain.skills.survey()
    assert (survey.skills, survey.skill_folder, survey.left_out_skills) == (4, "skills", [])


def test_a_survey_names_the_folder_of_new_skills(brain):
    (brain.root / "skills").rmdir()
    write_file(brain, ".agents/skills/b/SKILL.md", skill_text("b"))
    assert brain.skills.survey().skill_folder == ".agents/skills"


def test_a_large_ignored_folder_is_not_searched_to_its_end(brain, monkeypatch):
    monkeypatch.setattr(scan, "_MAX_ENTRIES", 50)
    write_file(brain, ".brainignore", "big\n")
    for number in range(40):
        write_file(brain, f"big/{number}/SKILL.md", skill_text("x"))
    (found,) = brain.skills.survey().left_out_skills
    assert found == LeftOutSkills("big", "ignored", 10)


def test_a_link_that_vanishes_while_it_is_followed_is_named_by_its_own_path(
    brain, home, monkeypatch
):
    def vanish(path: str) -> str:
        raise FileNotFoundError(path)

    link(brain, "far", home / "far")
    monkeypatch.setattr(scan.os.path, "realpath", vanish)
    places = [LeftOutPlace("far", BEHIND_LINK)]
    (found,) = scan.find_left_out_skills(brain.root, places)
    assert found.target == str(brain.root / "far")
