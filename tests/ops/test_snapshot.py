import os
from pathlib import Path

import pytest

from brain import Brain, InvalidInput, NoBrain, NotFound
from brain.folder import scan
from brain.results import LeftOutSkills
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


def message(brain: Brain, *paths: str) -> str:
    done = brain.snapshot_changes(paths or None)
    assert done.changed
    return next(brain.history.log(done.snapshot, limit=1)).message


def test_skills_are_told_by_what_became_of_them(brain):
    write_file(brain, "skills/a/SKILL.md", skill_text("a"))
    write_file(brain, "skills/b/SKILL.md", skill_text("b"))
    brain.snapshot()
    write_file(brain, "skills/a/SKILL.md", skill_text("a", 2))
    write_file(brain, "skills/b/scripts/run.py", "print()\n")
    write_file(brain, "skills/c/SKILL.md", skill_text("c"))
    assert message(brain) == "a upgraded 1 → 2; b edited; c added at version 1"
    (brain.root / "skills/c/SKILL.md").unlink()
    assert message(brain, "skills/c") == "c removed at version 1"


def test_other_files_are_told_by_their_lines(brain):
    write_file(brain, "memory/MEMORY.md", "one\ntwo\n")
    write_file(brain, "memory/x.bin", "\0")
    assert message(brain) == "memory/MEMORY.md added; memory/x.bin added"
    write_file(brain, "memory/MEMORY.md", "one\ntwo\nthree\n")
    assert message(brain) == "memory/MEMORY.md +1 line"
    write_file(brain, "memory/MEMORY.md", "1\n2\nthree\nfour\n")
    write_file(brain, "memory/x.bin", "\1\0")
    assert message(brain) == "memory/MEMORY.md +3 -2 lines; memory/x.bin edited"
    (brain.root / "memory/x.bin").rename(brain.root / "memory/y.bin")
    (brain.root / "memory/MEMORY.md").unlink()
    assert message(brain) == "memory/MEMORY.md removed; memory/x.bin moved to memory/y.bin"


def test_files_below_skills_that_are_none_are_named(brain):
    write_file(brain, "skills/NOTES/about.txt", "x\n")
    assert message(brain) == "skills/NOTES/about.txt added"


def test_of_many_changes_some_are_named_and_the_rest_counted(brain):
    for number in range(12):
        write_file(brain, f"memory/{number:02}.md", "x\n")
    assert message(brain).endswith("memory/07.md added; 4 more")
    for number in range(600):
        write_file(brain, f"notes/{number:03}.md", "x\n")
    (brain.root / "memory/00.md").unlink()
    write_file(brain, "memory/01.md", "y\n")
    assert message(brain) == "600 files added, 1 modified, 1 removed"


def test_of_named_paths_these_alone_are_looked_at_and_absence_is_no_error(brain):
    write_file(brain, "memory/a.md", "x\n")
    write_file(brain, "memory/b.md", "x\n")
    assert not brain.snapshot_changes(["memory/none.md", "4913"]).changed
    assert message(brain, "memory/a.md", "memory/none.md") == "memory/a.md added"
    assert brain.status().added == ["memory/b.md"]
    assert not brain.snapshot_changes([]).changed
