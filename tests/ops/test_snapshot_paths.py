"""Recording named paths alone."""

import os

import pytest

from brain import InvalidInput, NotFound
from tests.support.brains import skill_text, write_file
from tests.support.refusals import raises_code


@pytest.fixture
def changed(brain):
    """A brain with a recorded state, and one change of each sort since."""
    for name in ("memory/a.md", "memory/b.md", "memory/deep/c.md", "prompts/system.md"):
        write_file(brain, name, name)
    brain.snapshot()
    write_file(brain, "memory/a.md", "changed")
    (brain.root / "memory/b.md").unlink()
    write_file(brain, "memory/deep/new.md", "new")
    write_file(brain, "prompts/system.md", "changed")
    return brain


def test_only_the_named_file_is_recorded_and_the_rest_stays_different(changed):
    done = changed.snapshot("one", ["memory/a.md"])
    assert (done.changed, done.added, done.modified, done.removed) == (True, 0, 1, 0)
    assert changed.history.show().info.message == "one"
    status = changed.status()
    assert status.added == ["memory/deep/new.md"]
    assert status.modified == ["prompts/system.md"]
    assert status.removed == ["memory/b.md"]


def test_a_folder_stands_for_all_that_is_and_was_in_it(changed):
    done = changed.snapshot(paths=["memory/"])
    assert (done.added, done.modified, done.removed) == (1, 1, 1)
    assert changed.status().modified == ["prompts/system.md"]


def test_all_paths_by_name_make_the_bundle_of_the_whole_folder(changed):
    named = changed.snapshot(paths=["memory", "prompts", "memory/a.md"])
    assert changed.status().clean
    assert not changed.snapshot().changed
    assert changed.snapshot().bundle == named.bundle


def test_a_named_file_that_did_not_change_makes_no_snapshot(changed):
    head = changed.head
    done = changed.snapshot(paths=["memory/deep/c.md", "manifest.yaml"])
    assert not done.changed
    assert done.snapshot == changed.head == head


def test_a_path_that_is_gone_is_removed(changed):
    assert changed.snapshot(paths=["memory/b.md"]).removed == 1
    assert "memory/b.md" not in changed.status().removed


def test_a_path_that_nobody_knows_is_refused_and_nothing_is_recorded(changed):
    head = changed.head
    with raises_code("no_path", NotFound) as refused:
        changed.snapshot(paths=["memory/a.md", "memory/none.md"])
    assert refused.value.hint
    assert changed.head == head


@pytest.mark.parametrize("path", ["logs/a.md", "logs", "memory/x.tmp"])
def test_a_path_that_is_left_out_is_refused(changed, path):
    write_file(changed, ".brainignore", "logs/\n*.tmp\n")
    write_file(changed, "logs/a.md", "a")
    write_file(changed, "memory/x.tmp", "x")
    with raises_code("no_path", NotFound):
        changed.snapshot(paths=[path])


def test_what_is_left_out_by_now_is_removed_as_by_a_whole_snapshot(changed):
    write_file(changed, ".brainignore", "deep/\n")
    assert changed.snapshot(paths=["memory/deep/c.md"]).removed == 1
    assert (changed.root / "memory/deep/c.md").exists()


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", ".", "", "a//b"])
def test_a_path_that_no_brain_has_is_refused(changed, path):
    with raises_code("bad_path", InvalidInput):
        changed.snapshot(paths=[path])


def test_no_link_is_followed_on_the_way(changed, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.md").write_text("secret")
    os.symlink(tmp_path / "outside", changed.root / "link")
    with raises_code("unsafe_path", InvalidInput):
        changed.snapshot(paths=["link/secret.md"])


def test_a_file_that_became_a_folder_gives_way(brain):
    write_file(brain, "memory/a", "a file")
    write_file(brain, "memory/b/c", "in a folder")
    brain.snapshot()
    (brain.root / "memory/a").unlink()
    write_file(brain, "memory/a/x", "in a folder")
    (brain.root / "memory/b/c").unlink()
    (brain.root / "memory/b").rmdir()
    write_file(brain, "memory/b", "a file")
    done = brain.snapshot(paths=["memory/a/x", "memory/b"])
    assert (done.added, done.removed) == (2, 2)
    assert brain.status().clean


@pytest.mark.parametrize("old", ["notes/A.md", "Notes/b.md", "NOTES"])
def test_a_new_name_that_differs_from_a_recorded_one_in_case_alone_is_refused(brain, old):
    write_file(brain, old, "old")
    brain.snapshot()
    (brain.root / old).unlink()
    write_file(brain, "notes/a.md", "new")
    with raises_code("case_collision", InvalidInput):
        brain.snapshot(paths=["notes/a.md"])
    assert brain.snapshot(paths=["notes/a.md", old]).changed


def test_a_named_skill_is_listed_and_has_a_history(brain):
    write_file(brain, "skills/one/SKILL.md", skill_text("one"))
    write_file(brain, "skills/two/SKILL.md", skill_text("two"))
    brain.snapshot("one", ["skills/one"])
    assert [found.slug for found in brain.skills.list()] == ["one"]
    assert [row.message for row in brain.skills.history("one")] == ["one"]


def test_a_file_written_at_the_same_moment_is_seen_by_the_next_status(brain):
    write_file(brain, "memory/a.md", "aaaa")
    brain.snapshot()
    for text in ("bbbb", "cccc"):
        write_file(brain, "memory/a.md", text)
        brain.snapshot(paths=["memory/a.md"])
        assert brain.status().clean
    write_file(brain, "memory/a.md", "dddd")
    assert brain.status().modified == ["memory/a.md"]


def test_a_notice_tells_what_in_a_named_folder_is_left_out(changed):
    os.mkfifo(changed.root / "memory/pipe")
    done = changed.snapshot(paths=["memory"])
    assert [(notice.code, notice.path) for notice in done.notices] == [
        ("not_regular", "memory/pipe")
    ]


@pytest.mark.parametrize("name", ["a:b", "a\\b", "a\tb", "a\nb", "\udcff"])
def test_a_change_at_a_path_that_no_brain_holds_is_named_and_can_be_removed(brain, name):
    (brain.root / name).write_text("x")
    (notice,) = brain.snapshot_changes([name]).notices
    assert notice.message.startswith("left out: ")
    (brain.root / name).unlink()
    assert not brain.snapshot_changes([name]).changed
    assert brain.verify().ok
