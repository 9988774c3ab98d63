"""Looking back: ranges, paths from where one stands, patches, and renames."""

from pathlib import Path

import pytest

from brain import Brain
from tests.cli.conftest import Call

OLD, NEW = "skills/reentrancy", "skills/re-entry"


@pytest.fixture
def history(agent, cli):
    """A brain with a second snapshot of a skill, a third of a memory, a fourth of both."""
    for number, paths in enumerate(
        ([f"{OLD}/SKILL.md"], ["memory/notes.md"], [f"{OLD}/SKILL.md", "memory/notes.md"])
    ):
        for path in paths:
            with open(path, "a") as file:
                file.write(f"Line {number}.\n")
        assert cli("snapshot", "-m", f"Change {number}").status == 0
    return agent


def messages(cli: Call, *arguments: str) -> list[str]:
    found = cli("log", "--json", *arguments)
    assert found.status == 0, found.err
    return [row["message"] for row in found.document["snapshots"]]


def test_a_range_is_what_its_end_has_and_its_start_has_not(history, cli):
    assert messages(cli, "@~2..@") == ["Change 2", "Change 1"]
    assert messages(cli, "@~1..") == ["Change 2"]
    assert messages(cli, "..@~3") == []
    assert messages(cli, "@~2..@", "--", "skills/reentrancy") == ["Change 2"]


def test_a_range_across_branches_leaves_out_what_both_have(history, cli):
    cli("branch", "idea")
    cli("switch", "idea")
    Path("memory/idea.md").write_text("idea\n")
    cli("snapshot", "-m", "Idea")
    assert messages(cli, "main..idea") == ["Idea"]
    assert messages(cli, "idea..main") == []


def test_a_count_may_be_written_as_git_writes_it(history, cli):
    assert messages(cli, "-2") == messages(cli, "-n", "2") == ["Change 2", "Change 1"]


def test_the_log_of_paths_has_the_snapshots_that_changed_them(history, cli):
    assert messages(cli, "--", "memory/notes.md") == ["Change 2", "Change 1", "First"]
    assert messages(cli, "--", OLD) == messages(cli, OLD) == ["Change 2", "Change 0", "First"]
    assert messages(cli, "@~1", "--", OLD + "/") == ["Change 0", "First"]
    assert messages(cli, "--", "memory", OLD)[:3] == ["Change 2", "Change 1", "Change 0"]
    assert cli("log", "--", "memory/other.md").status == 1


def test_a_merge_is_in_the_log_of_a_path_if_it_differs_from_both(agent):
    with Brain.open(agent) as brain:
        brain.branches.create("idea")
        brain.skills.upsert("only-main", "x\n", description="d")
        brain.branches.switch("idea")
        brain.skills.upsert("only-idea", "x\n", description="d")
        brain.branches.switch("main")
        brain.merge.start("idea")
        kinds = [
            [info.operation["kind"] for info in brain.history.log(paths=[path])]
            for path in ("skills/only-idea", "skills/only-main", "skills")
        ]
    assert kinds == [["upsert"], ["upsert"], ["merge", "upsert", "upsert", "snapshot"]]


def test_paths_are_relative_to_where_one_stands(history, cli, monkeypatch):
    monkeypatch.chdir("memory")
    assert messages(cli, "--", "notes.md") == ["Change 2", "Change 1", "First"]
    assert messages(cli, "--", "../" + OLD) == ["Change 2", "Change 0", "First"]
    assert messages(cli, "--", str(history / OLD)) == ["Change 2", "Change 0", "First"]
    Path("more.md").write_text("more\n")
    Path("../prompts/more.md").write_text("more\n")
    assert cli("snapshot", ".", "--json").document["added"] == 1
    assert cli("diff", "@~1", "--json", "--", ".").document["changes"][0]["path"] == (
        "memory/more.md"
    )
    assert cli("diff", "--json", "--", "notes.md").document["changes"] == []
    assert cli("restore", "@~4", "notes.md").status == 0
    assert Path("notes.md").read_text() == "one\ntwo\n"
    assert Path("more.md").exists()


def test_paths_are_relative_to_a_named_brain(history, cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = cli("-C", "agent", "log", "--json", "--", OLD)
    assert found.document["snapshots"][0]["message"] == "Change 2"


@pytest.mark.parametrize("command", [["log"], ["diff"], ["restore", "@"], ["snapshot"]])
@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", ""])
def test_a_path_outside_the_brain_is_refused(history, cli, command, path):
    refused = cli(*command, "--json", "--", path)
    assert (refused.status, refused.error["code"]) == (1, "bad_path")


def test_what_is_a_revision_and_a_file_must_be_told_apart(history, cli):
    Path("main").write_text("a file\n")
    refused = cli("log", "main")
    assert refused.status == 2 and "write --" in refused.err
    assert messages(cli, "main", "--")[0] == "Change 2"
    assert cli("log", "--", "main").status == 1
    assert cli("log", "@", "@~1").status == 2
    assert cli("log", "no-such-thing").status == 1


def test_the_top_of_the_brain_is_all_of_it(history, cli):
    Path("memory/more.md").write_text("more\n")
    assert cli("snapshot", ".", "--json").document["added"] == 1
    assert cli("restore", "@~1", ".").status == 0
    assert not Path("memory/more.md").exists()


def test_the_log_shows_patches_and_counts(history, cli):
    shown = cli("log", "-p", "-n", "1").out
    assert "+++ b/memory/notes.md" in shown and "+Line 2." in shown
    assert "memory/notes.md  " in cli("log", "--stat", "-1").out
    only = cli("log", "-p", "-1", "--", "memory").out
    assert "memory/notes.md" in only and "SKILL.md" not in only
    (row,) = cli("log", "--json", "--stat", "--patch", "-1").document["snapshots"]
    assert {change["path"] for change in row["changes"]} == {"memory/notes.md", f"{OLD}/SKILL.md"}
    assert [stat["added"] for stat in row["stat"]] == [1, 1]
    assert row["skills"][0]["slug"] == "reentrancy" and "+Line 2." in row["patch"]
    assert cli("log", "--graph", "--patch").status == 2


def test_the_first_snapshot_has_a_patch_too(agent, cli):
    assert cli("log", "--patch").status == 0
    assert cli("show", "@~1", "--patch").status == 0


def test_show_names_the_skills_and_the_paths_that_changed(history, cli):
    shown = cli("show", "--stat", "--patch").out
    assert "reentrancy changed, still at version 3\n" in shown
    assert f"M {OLD}/SKILL.md\n" in shown and "M memory/notes.md\n" in shown
    assert "2 files, +2 -0\n" in shown and "+Line 2." in shown
    document = cli("show", "--json", "--stat", "--patch").document
    assert [change["path"] for change in document["changes"]] == [
        "memory/notes.md",
        f"{OLD}/SKILL.md",
    ]
    assert "stat" not in cli("show", "--json").document


def test_diff_takes_a_range_and_paths(history, cli):
    plain = cli("diff", "@~2", "@", "--json").document
    assert cli("diff", "@~2..@", "--json").document == plain
    assert cli("diff", "@~2..", "--json").document == plain
    found = cli("diff", "@~2..@", "--json", "--", "memory").document
    assert [change["path"] for change in found["changes"]] == ["memory/notes.md"]
    assert found["skills"] == []


def test_a_renamed_skill_folder_is_a_rename(agent, cli):
    Path(OLD, "notes.md").write_text("shared\n")
    Path("skills/oracle-manipulation/notes.md").write_text("shared\n")
    cli("snapshot")
    Path(OLD).rename(NEW)
    text = Path(NEW, "SKILL.md").read_text()
    Path(NEW, "SKILL.md").write_text(text.replace("name: reentrancy", "name: re-entry"))
    lines = cli("diff").out
    assert lines == "reentrancy renamed to re-entry\n"
    cli("snapshot")
    document = cli("diff", "@~1", "@", "--json").document
    assert [(row["from_slug"], row["slug"]) for row in document["skills"]] == [
        ("reentrancy", "re-entry")
    ]
    assert [(row["change"], row["from_path"], row["path"]) for row in document["changes"]] == [
        ("renamed", f"{OLD}/SKILL.md", f"{NEW}/SKILL.md"),
        ("renamed", f"{OLD}/notes.md", f"{NEW}/notes.md"),
    ]
    patch = cli("show", "--patch").out
    assert f"rename from {OLD}/SKILL.md" in patch and "+name: re-entry" in patch
    assert f"R {OLD}/SKILL.md → {NEW}/SKILL.md\n" in patch


def test_a_removed_and_an_added_skill_that_differ_are_no_rename(agent, cli):
    Path("body.md").write_text("# Another thing\n\nNothing in common.\n")
    cli("skill", "delete", "reentrancy")
    cli("skill", "upsert", "other", "-d", "About reentrancy", "-f", "body.md")
    found = cli("diff", "@~2", "@", "--json", "--", "skills").document["skills"]
    assert [(row["slug"], row["change"]) for row in found] == [
        ("other", "added"),
        ("reentrancy", "removed"),
    ]


@pytest.fixture
def versions(agent, cli):
    """A skill of two versions and an edit, in a brain where other things changed between."""
    for text in ("First.\n", "Second.\n"):
        Path("new.md").write_text(text)
        assert cli("skill", "upsert", "csv", "-d", "Reads CSV.", "-f", "new.md").status == 0
        with open("memory/notes.md", "a") as file:
            file.write(text)
        assert cli("snapshot", "-m", "Notes").status == 0
    return agent


def test_a_skill_stands_where_a_revision_may(versions, cli):
    assert len(messages(cli, "csv")) == 2
    assert len(messages(cli, "csv@1")) == 1
    assert "csv upgraded 1 → 2" in cli("show", "csv").out
    assert "csv added at version 1" in cli("show", "csv@1").out
    compared = cli("diff", "csv@1", "csv@2", "--patch").out
    assert "-First." in compared and "+Second." in compared and "notes.md" not in compared
    assert "-First." in cli("diff", "csv@1", "--patch").out


def test_a_skill_is_restored_as_it_was_in_a_version_or_at_the_head(versions, cli):
    file = Path("skills/csv/SKILL.md")
    assert cli("restore", "csv@1").status == 0
    assert "First." in file.read_text() and "Second." in Path("memory/notes.md").read_text()
    cli("undo")
    for name in ("csv", "skills/csv", "skills/csv/SKILL.md"):
        file.unlink()
        assert cli("restore", name).status == 0
        assert "Second." in file.read_text()


def test_a_branch_comes_before_a_skill_of_its_name(versions, cli):
    assert cli("branch", "csv", "@~1").status == 0
    assert messages(cli, "csv")[0] == messages(cli, "@~1")[0] != messages(cli, "@")[0]


@pytest.mark.parametrize("command", [["log"], ["show"], ["diff"], ["restore"]])
def test_what_is_neither_a_revision_nor_a_skill_nor_a_file_is_refused(agent, cli, command):
    refused = cli(*command, "nosuch", "--json")
    assert refused.status == 1 and refused.error["code"] == "bad_revision"
    refused = cli(*command, "nosuch@1", "--json")
    assert refused.status == 1 and refused.error["code"] == "no_skill"
