"""Skills are renamed, and edits are based on versions."""

import pytest

from brain import Brain, Conflict, InvalidInput, NotFound
from tests.support.brains import write_file
from tests.support.refusals import raises_code


@pytest.fixture
def named(brain):
    """A brain with a skill of three versions and a file beside its text."""
    for text in ("one\n", "two\n", "three\n"):
        brain.skills.upsert("old-name", f"# Title\n\nA line that stays.\n\n{text}", description="d")
    write_file(brain, "skills/old-name/scripts/run.sh", "echo\n")
    brain.snapshot()
    return brain


def test_a_rename_is_one_snapshot_that_moves_every_file(named):
    before = named.head
    done = named.skills.rename("old-name", "New name")
    assert (done.slug, done.name, done.previous_version, done.version) == (
        "new-name",
        "new-name",
        3,
        4,
    )
    assert done.path == "skills/new-name/SKILL.md"
    assert named.history.show().info.parents == [before]
    assert not (named.root / "skills/old-name").exists()
    assert (named.root / "skills/new-name/scripts/run.sh").read_text() == "echo\n"
    text = (named.root / done.path).read_text()
    assert "name: new-name\n" in text and "three" in text
    assert named.status().clean
    assert named.verify(deep=True).findings == []


def test_history_blame_and_versions_follow_a_rename(named):
    first = named.skills.history("old-name")[-1].snapshot
    named.skills.rename("old-name", "new-name")
    changes = [(row.change, row.version) for row in named.skills.history("new-name")]
    assert changes[0] == ("renamed", 4) and changes[-1] == ("added", 1)
    lines = {line.text: line.snapshot for line in named.history.blame("new-name")}
    assert lines["A line that stays."] == first
    assert "one" in named.skills.view("new-name@1").body
    assert named.skills.upsert("new-name", "five\n").version == 5
    assert named.skills.revert("new-name", "2").version == 6
    assert named.verify().findings == []


def test_the_diff_and_the_log_call_it_a_rename(named):
    named.skills.rename("old-name", "new-name")
    (change,) = named.history.diff("@~1", "@").skills
    assert (change.change, change.from_slug, change.slug) == ("renamed", "old-name", "new-name")
    assert all(row.change == "renamed" for row in named.history.diff("@~1", "@").changes)


def test_a_title_that_is_no_name_of_the_folder_stays(brain):
    path = write_file(
        brain, "skills/old/SKILL.md", "---\nname: Another title\ndescription: d\n---\nx\n"
    )
    brain.snapshot()
    brain.skills.rename("old", "new")
    assert not path.exists()
    assert "name: Another title" in (brain.root / "skills/new/SKILL.md").read_text()


@pytest.mark.parametrize("path", ["skills/old.md", "skills/tools/old.md"])
def test_a_flat_skill_stays_flat(brain, path):
    write_file(brain, path, "---\nname: old\ndescription: d\nversion: 2\n---\nx\n")
    brain.snapshot()
    done = brain.skills.rename("old", "new")
    assert done.path == path.replace("old", "new")
    assert brain.status().clean and brain.verify().findings == []


def test_edits_and_new_files_in_the_folder_come_along(named):
    text = (named.root / "skills/old-name/SKILL.md").read_text()
    write_file(named, "skills/old-name/SKILL.md", text + "by hand\n")
    write_file(named, "skills/old-name/more.md", "more\n")
    named.skills.rename("old-name", "new-name")
    assert "by hand" in (named.root / "skills/new-name/SKILL.md").read_text()
    assert (named.root / "skills/new-name/more.md").read_text() == "more\n"
    assert not (named.root / "skills/old-name").exists()
    assert named.history.show("@~1").info.message == "Record manual edits"
    assert named.status().clean


def test_a_name_that_is_taken_is_refused_and_nothing_changes(named):
    named.skills.upsert("other", "x\n", description="d")
    write_file(named, "skills/not-recorded/notes.txt", "x\n")
    head = named.head
    for name in ("other", "Other", "old-name", "not-recorded"):
        with raises_code("skill_exists", Conflict):
            named.skills.rename("old-name", name)
    for name in ("a/b", "…", ""):
        with pytest.raises(InvalidInput):
            named.skills.rename("old-name", name)
    with pytest.raises(NotFound):
        named.skills.rename("none", "new-name")
    assert named.head == head


def test_a_folder_that_a_removed_skill_left_takes_no_name(named):
    (named.root / "skills/new-name/scripts").mkdir(parents=True)
    assert named.skills.rename("old-name", "new-name").path == "skills/new-name/SKILL.md"
    assert named.status().clean
    (named.root / "skills/old-name").mkdir()
    (named.root / "skills/old-name/to-nowhere").symlink_to("absent")
    with raises_code("skill_exists", Conflict):
        named.skills.rename("new-name", "old-name")


def test_a_name_that_was_used_before_goes_on_above_both_histories(named):
    for number in range(6):
        named.skills.upsert("gone", f"{number}\n", description="d")
    named.skills.delete("gone")
    done = named.skills.rename("old-name", "gone")
    assert (done.previous_version, done.version) == (3, 7)
    assert named.verify().findings == []


def test_undo_of_a_rename_brings_the_folder_back(named):
    text = (named.root / "skills/old-name/SKILL.md").read_text()
    named.skills.rename("old-name", "new-name")
    assert named.undo().description == "rename old-name to new-name at version 4"
    assert (named.root / "skills/old-name/SKILL.md").read_text() == text
    assert not (named.root / "skills/new-name").exists() and named.status().clean
    named.redo()
    assert named.skills.view("new-name").version == 4


@pytest.fixture
def brain(tmp_path):
    made = Brain.init(tmp_path / "agent", author="tester")
    made.skills.upsert("Oracle", "one\n\ntwo\n\nthree\n", description="Check")
    return made


def body(brain: Brain) -> str:
    return brain.skills.view("oracle").body.strip()


def test_a_text_for_the_version_that_is_there_is_written_as_it_is(brain):
    assert brain.skills.upsert("Oracle", "new\n", base=1).version == 2
    assert body(brain) == "new"


def test_what_another_writer_did_since_is_kept(brain):
    brain.skills.upsert("Oracle", "ONE\n\ntwo\n\nthree\n", base=1)
    brain.skills.upsert("Oracle", description="Check and compare")
    done = brain.skills.upsert("Oracle", "one\n\ntwo\n\nTHREE\n", base=1)
    assert (done.previous_version, done.version) == (3, 4)
    assert body(brain) == "ONE\n\ntwo\n\nTHREE"
    assert brain.skills.view("oracle").description == "Check and compare"
    assert brain.verify(deep=True).findings == []


def test_two_texts_for_the_same_lines_are_not_laid_over_each_other(brain):
    brain.skills.upsert("Oracle", "ONE\n\ntwo\n\nthree\n", base=1)
    head = brain.head
    with raises_code("stale_base", Conflict) as caught:
        brain.skills.upsert("Oracle", "uno\n\ntwo\n\nthree\n", base=1)
    assert "version 2" in caught.value.message
    assert brain.head == head and body(brain).startswith("ONE")


def test_a_base_that_never_was_or_is_gone_is_refused(brain):
    with raises_code("no_version", NotFound):
        brain.skills.upsert("Oracle", "x\n", base=7)
    brain.skills.delete("oracle")
    with raises_code("stale_base", Conflict):
        brain.skills.upsert("Oracle", "x\n", base=1)
