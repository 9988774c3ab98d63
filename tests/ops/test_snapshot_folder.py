import os

import pytest

from brain import Brain, InvalidInput, NoBrain
from tests.support.brains import skill_text, write_file
from tests.support.derived_data import cache_folder
from tests.support.refusals import raises_code


def test_a_new_brain_is_clean_and_its_id_is_its_first_snapshot(brain):
    assert brain.id == brain.head
    assert brain.status().clean
    assert brain.history.show().info.operation["kind"] == "genesis"


def test_a_folder_with_files_becomes_a_brain_without_losing_any(tmp_path):
    (tmp_path / "skills/a").mkdir(parents=True)
    (tmp_path / "skills/a/SKILL.md").write_text(skill_text("a"))
    (tmp_path / "manifest.yaml").write_text("name: mine\n")
    with Brain.init(tmp_path) as brain:
        assert brain.status().added == ["manifest.yaml", "skills/a/SKILL.md"]
        brain.snapshot()
        assert [found.slug for found in brain.skills.list()] == ["a"]
    assert (tmp_path / "manifest.yaml").read_text() == "name: mine\n"


def test_a_second_brain_in_one_folder_is_refused(brain):
    with raises_code("brain_exists", InvalidInput):
        Brain.init(brain.root)


def test_a_folder_without_a_brain_is_no_brain(tmp_path):
    with pytest.raises(NoBrain) as refused:
        Brain.open(tmp_path)
    assert refused.value.exit_status == 10


def test_two_folders_of_equal_files_have_one_bundle_whatever_the_order(tmp_path):
    names = [f"skills/s{i}/SKILL.md" for i in range(60)] + ["memory/a.md", "SOUL.md"]
    bundles = []
    for folder, order in (("x", names), ("y", names[::-1])):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "manifest.yaml").write_text("name: same\n")
        with Brain.init(tmp_path / folder) as brain:
            for name in order:
                write_file(brain, name, skill_text(name))
                if folder == "y":
                    brain.snapshot()
            bundles.append(brain.snapshot().bundle)
    assert bundles[0] == bundles[1]


def test_nothing_changed_means_no_new_snapshot(brain):
    write_file(brain, "memory/a.md", "a\n")
    first = brain.snapshot()
    again = brain.snapshot()
    assert (first.changed, again.changed) == (True, False)
    assert again.snapshot == first.snapshot


def test_counts_tell_added_modified_and_removed(brain):
    for name in "abc":
        write_file(brain, f"memory/{name}.md", name)
    assert brain.snapshot()[4:7] == (3, 0, 0)
    write_file(brain, "memory/a.md", "other")
    (brain.root / "memory/b.md").unlink()
    write_file(brain, "memory/d.md", "d")
    write_file(brain, "memory/e.md", "e")
    status = brain.status()
    assert (status.added, status.modified, status.removed) == (
        ["memory/d.md", "memory/e.md"],
        ["memory/a.md"],
        ["memory/b.md"],
    )
    assert brain.snapshot("message")[4:7] == (2, 1, 1)
    assert brain.history.show().info.message == "message"
    assert brain.history.show().counts == {
        "files": 5,
        "bytes": brain.history.show().counts["bytes"],
    } | {"added": 2, "modified": 1, "removed": 1}


def test_an_executable_bit_is_a_change(brain):
    path = write_file(brain, "skills/a/run.sh", "echo\n")
    brain.snapshot()
    path.chmod(0o755)
    assert brain.status().modified == ["skills/a/run.sh"]
    brain.snapshot()
    path.chmod(0o644)
    brain.restore("@")
    assert os.access(path, os.X_OK)


def test_a_link_inside_is_kept_and_restored_as_a_link(brain):
    write_file(brain, "memory/a.md", "a\n")
    (brain.root / "memory/b.md").symlink_to("a.md")
    brain.snapshot()
    (brain.root / "memory/b.md").unlink()
    brain.restore("@")
    assert os.readlink(brain.root / "memory/b.md") == "a.md"


def test_a_link_outside_and_a_pipe_are_named_and_left_out(brain):
    (brain.root / "memory/out").symlink_to("/etc/passwd")
    os.mkfifo(brain.root / "memory/pipe")
    done = brain.snapshot()
    assert {notice.path for notice in done.notices} == {"memory/out", "memory/pipe"}
    assert not done.changed


def test_what_is_ignored_is_not_recorded(brain):
    write_file(brain, ".env", "SECRET=1\n")
    write_file(brain, "memory/db.sqlite-wal", "x")
    write_file(brain, "scratch/a.txt", "x")
    write_file(brain, ".brainignore", "scratch/\n")
    assert brain.status().added == [".brainignore"]


def test_a_large_file_comes_back_whole(brain):
    lines = "".join(f'{{"n": {i}, "text": "{"x" * 60}"}}\n' for i in range(30_000))
    write_file(brain, "memory/log.jsonl", lines)
    brain.snapshot()
    write_file(brain, "memory/log.jsonl", lines + '{"n": "new"}\n')
    brain.snapshot()
    brain.restore("@~1", ["memory/log.jsonl"])
    assert (brain.root / "memory/log.jsonl").read_text() == lines
    brain.restore("@~1", ["memory/log.jsonl"])
    assert (brain.root / "memory/log.jsonl").read_text() == lines + '{"n": "new"}\n'
    assert brain.verify(deep=True).ok


def test_the_stat_cache_may_be_lost_or_damaged_at_any_time(brain):
    write_file(brain, "memory/a.md", "a\n")
    brain.snapshot()
    (cache,) = cache_folder(brain).glob("stat-*")
    for damage in (b"", b"junk", cache.read_bytes()[:-3]):
        cache.write_bytes(damage)
        assert brain.status().clean
    cache.unlink()
    assert brain.status().clean
    assert not brain.snapshot().changed


def test_reading_leaves_the_store_untouched(brain):
    brain.skills.upsert("a", "x\n", description="d")
    write_file(brain, "memory/a.md", "a\n")
    store = brain.root / ".brain/store.db"
    before = store.read_bytes(), (brain.root / ".brain/store.db-wal").read_bytes()
    with Brain.open(brain.root) as reader:
        reader.status()
        reader.history.diff()
        list(reader.history.log())
        reader.prompt.build_index()
        reader.prompt.build()
        reader.verify(deep=True)
        reader.doctor()
    assert (store.read_bytes(), (brain.root / ".brain/store.db-wal").read_bytes()) == before


@pytest.mark.parametrize(
    ("message", "code"), [("x" * 70_000, "too_large"), ("lone \ud800", "bad_char")]
)
def test_a_message_that_no_snapshot_can_hold_is_refused(brain, message, code):
    write_file(brain, "memory/a.md", "a\n")
    with raises_code(code, InvalidInput):
        brain.snapshot(message)
    assert brain.head == brain.id


def test_a_clock_before_1970_or_far_ahead_does_no_harm(brain):
    for time in (-5, 1 << 62, 0):
        brain._session.clock = lambda time=time: time
        brain.skills.upsert("a", "x\n", description="d")
    assert brain.verify().ok
    assert len(brain.history.list_operations()) == 4


def test_a_file_that_was_undone_and_then_deleted_is_no_removal(tmp_path):
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/a.md").write_text("a\n")
    (tmp_path / "manifest.yaml").write_text("name: mine\n")
    with Brain.init(tmp_path) as brain:
        brain.snapshot()
        brain.undo()
        (tmp_path / "memory/a.md").unlink()
        assert brain.status().removed == []
        (tmp_path / "manifest.yaml").unlink()
        assert brain.status().clean and not brain.snapshot().changed


def test_a_file_is_no_folder_for_a_brain(tmp_path):
    (tmp_path / "file").write_text("text")
    with raises_code("not_a_folder", InvalidInput):
        Brain.init(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "text"
