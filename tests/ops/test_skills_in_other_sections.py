"""Skills outside of the section `skills` are read and written as those in it."""

import pytest

from brain import InvalidInput
from tests.support.brains import skill_text, write_file
from tests.support.refusals import raises_code

PLACES = [
    "oracle/SKILL.md",
    "tools/oracle/SKILL.md",
    "plugins/prices/skills/oracle/SKILL.md",
    ".agents/skills/oracle/skill.md",
    ".claude/skills/oracle/SKILL.md",
    "skills/.curated/oracle/SKILL.md",
]


@pytest.fixture(params=PLACES)
def path(request, brain):
    """The path of a skill that is recorded, with a file beside it."""
    place = str(request.param)
    write_file(brain, place, skill_text("oracle", 1, "Ask.\n"))
    write_file(brain, place.rpartition("/")[0] + "/references/prices.md", "Prices.\n")
    write_file(brain, "memory/oracle.md", "No skill.\n")
    brain.snapshot()
    return place


def test_it_is_listed_and_found_by_slug_and_by_path(brain, path):
    assert [skill.path for skill in brain.skills.list()] == [path]
    folder = path.rpartition("/")[0]
    for address in ["oracle", path, *([folder] if "/" in folder else [])]:
        view = brain.skills.view(address)
        assert (view.path, view.body) == (path, "Ask.\n")
        assert sorted(view.files) == sorted([path, f"{folder}/references/prices.md"])
    assert brain.prompt.build_index().index.startswith("▸ oracle: ")
    assert [one.path for one in brain.skills.select("oracle")] == [path]


def test_an_upsert_writes_it_where_it_is(brain, path):
    done = brain.skills.upsert("oracle", "Ask twice.\n")
    assert (done.path, done.version, done.previous_version) == (path, 2, 1)
    assert (brain.root / path).read_text().endswith("\nAsk twice.\n")
    assert [row.version for row in brain.skills.history("oracle")] == [2, 1]
    assert brain.skills.view("oracle@1").body == "Ask.\n"
    assert brain.verify(deep=True).findings == []


def test_it_is_deleted_with_its_files_and_brought_back(brain, path):
    beside = brain.root / path.rpartition("/")[0] / "references/prices.md"
    brain.skills.delete("oracle")
    assert brain.skills.list() == [] and not beside.exists()
    assert "oracle" not in brain.prompt.build_index().index
    back = brain.skills.revert("oracle", "1")
    assert (back.path, back.version) == (path, 2)
    assert beside.read_text() == "Prices.\n"
    assert brain.verify(deep=True).findings == []


def test_a_file_beside_it_is_edited_as_its_own(brain, path):
    brain.skills.edit("oracle", lambda _: b"Note.\n", file="notes.md")
    assert (brain.root / path.rpartition("/")[0] / "notes.md").read_text() == "Note.\n"
    assert brain.skills.view("oracle").version == 2
    assert brain.verify().findings == []


def test_a_manual_edit_without_a_higher_version_is_reported(brain, path):
    write_file(brain, path, skill_text("oracle", 1, "Ask less.\n"))
    assert [change.slug for change in brain.history.diff().skills] == ["oracle"]
    brain.snapshot_changes()
    assert next(iter(brain.history.log())).message == "oracle edited"
    (finding,) = brain.verify().findings
    assert (finding.code, finding.path) == ("version_not_raised", path)


def test_two_branches_that_change_it_are_merged_as_a_skill(brain, path):
    brain.branches.create("idea")
    brain.skills.upsert("oracle", "Ask.\n", description="By price")
    brain.branches.switch("idea")
    brain.skills.upsert("oracle", "Ask.\nThen check.\n")
    brain.branches.switch("main")
    merged = brain.merge.start("idea")
    assert [(skill.slug, skill.version) for skill in merged.skills] == [("oracle", 3)]
    view = brain.skills.view("oracle")
    assert (view.path, view.body, view.description) == (path, "Ask.\nThen check.\n", "By price")
    assert brain.verify(deep=True).findings == []


def test_a_link_to_a_skill_is_not_a_second_one(brain, path):
    folder = path.rpartition("/")[0]
    links = brain.root / ".qwen/skills"
    (links / "copied").mkdir(parents=True)
    (links / "oracle").symlink_to(f"../../{folder}")
    (links / "copied/SKILL.md").symlink_to(f"../../../{path}")
    recorded = brain.snapshot()
    assert (recorded.added, list(recorded.left_out_skills)) == (2, [])
    assert [skill.path for skill in brain.skills.list()] == [path]
    assert brain.skills.view("oracle").path == path
    assert brain.verify(deep=True).findings == []


def test_skills_of_one_slug_are_told_apart_by_their_paths(brain):
    for place in PLACES:
        write_file(brain, place, skill_text("oracle", 1, f"{place}\n"))
    brain.snapshot()
    with raises_code("ambiguous_skill", InvalidInput):
        brain.skills.view("oracle")
    for place in PLACES:
        assert brain.skills.view(place).body == f"{place}\n"


def test_a_new_skill_goes_to_the_one_folder_of_a_client_that_holds_all(brain):
    write_file(brain, ".agents/skills/oracle/SKILL.md", skill_text("oracle", 1, "Ask.\n"))
    brain.snapshot()
    done = brain.skills.upsert("seer", "See.\n", description="d")
    assert done.path == ".agents/skills/seer/SKILL.md"
    assert [notice.code for notice in done.notices] == ["skill_folder"]
    assert brain.skills.upsert("deep", "x\n", description="d", category="Tools").path == (
        ".agents/skills/tools/deep/SKILL.md"
    )


@pytest.mark.parametrize("other", ["skills/a/SKILL.md", ".claude/skills/a/SKILL.md", "a/SKILL.md"])
def test_a_new_skill_goes_to_skills_where_skills_lie_in_several_places(brain, other):
    for place in (".agents/skills/oracle/SKILL.md", other):
        write_file(brain, place, skill_text(place.split("/")[-2], 1, "x\n"))
    brain.snapshot()
    done = brain.skills.upsert("seer", "See.\n", description="d")
    assert (done.path, list(done.notices)) == ("skills/seer/SKILL.md", [])
