"""The scan of a folder."""

import os

import pytest

from brain import limits
from brain.errors import InvalidInput
from brain.folder.ignore import IgnoreRules
from brain.folder.scan import scan_files
from brain.objects.tree_node import EXECUTABLE, FILE, LINK
from tests.support.refusals import raises_code
from tests.support.worktree_scans import (
    candidate_paths,
    put_file,
    save_stat_cache,
    scan_with_cache,
    scan_without_cache,
    settle_stat_cache,
)


def test_without_a_cache_every_file_is_a_candidate(root):
    put_file(root, "skills/b/SKILL.md", b"12345")
    put_file(root, "MEMORY.md")
    found = scan_with_cache(root)
    assert [(c.path, c.kind, c.size) for c in found.changed] == [
        ("MEMORY.md", FILE, 5),
        ("skills/b/SKILL.md", FILE, 5),
    ]
    assert (found.removed, found.notices, found.files) == ([], [], 2)


def test_a_settled_folder_shows_no_candidate_and_lists_no_folder(root):
    put_file(root, "skills/a/SKILL.md")
    put_file(root, "memory/MEMORY.md")
    settle_stat_cache(root)
    found = scan_with_cache(root)
    assert (found.changed, found.removed, found.folders, found.files) == ([], [], {}, 2)


def test_one_changed_file_is_the_only_candidate(root):
    for name in "abc":
        put_file(root, f"skills/{name}/SKILL.md")
    settle_stat_cache(root)
    put_file(root, "skills/b/SKILL.md", b"other\n")
    assert candidate_paths(scan_with_cache(root)) == ["skills/b/SKILL.md"]


def test_new_files_in_known_and_in_new_folders_are_found(root):
    put_file(root, "skills/a/SKILL.md")
    settle_stat_cache(root)
    put_file(root, "skills/a/notes.md")
    put_file(root, "skills/b/references/deep/x.md")
    put_file(root, "TOP.md")
    found = scan_with_cache(root)
    assert candidate_paths(found) == [
        "TOP.md",
        "skills/a/notes.md",
        "skills/b/references/deep/x.md",
    ]
    assert found.files == 4


def test_removed_files_are_named_also_when_their_folder_is_gone(root):
    for path in ("skills/a/SKILL.md", "skills/a/x/y.md", "skills/b/SKILL.md", "TOP.md"):
        put_file(root, path)
    settle_stat_cache(root)
    for path in ("skills/a/x/y.md", "skills/a/SKILL.md", "TOP.md"):
        (root / path).unlink()
    (root / "skills/a/x").rmdir()
    (root / "skills/a").rmdir()
    found = scan_with_cache(root)
    assert found.removed == ["TOP.md", "skills/a/SKILL.md", "skills/a/x/y.md"]
    assert (candidate_paths(found), found.files) == ([], 1)


def test_a_file_that_became_a_folder_is_removed_and_what_it_holds_is_new(root):
    put_file(root, "skills/a")
    settle_stat_cache(root)
    (root / "skills/a").unlink()
    put_file(root, "skills/a/SKILL.md")
    found = scan_with_cache(root)
    assert (found.removed, candidate_paths(found)) == (["skills/a"], ["skills/a/SKILL.md"])


def test_a_folder_that_became_a_file_is_a_candidate_and_its_files_are_removed(root):
    put_file(root, "skills/a/SKILL.md")
    settle_stat_cache(root)
    (root / "skills/a/SKILL.md").unlink()
    (root / "skills/a").rmdir()
    put_file(root, "skills/a")
    found = scan_with_cache(root)
    assert (found.removed, candidate_paths(found)) == (["skills/a/SKILL.md"], ["skills/a"])


def test_a_folder_moved_away_with_a_link_in_its_place_is_gone(root, tmp_path):
    put_file(root, "skills/a/SKILL.md")
    put_file(root, "skills/a/x/y.md")
    settle_stat_cache(root)
    (root / "skills/a").rename(tmp_path / "elsewhere")
    (root / "skills/a").symlink_to(tmp_path / "elsewhere")
    found = scan_with_cache(root)
    assert (found.removed, candidate_paths(found)) == (["skills/a/SKILL.md", "skills/a/x/y.md"], [])
    assert [(n.code, n.path) for n in found.notices] == [("link_outside", "skills/a")]


def test_a_renamed_folder_takes_its_files_along(root):
    put_file(root, "skills/a/x/y.md")
    settle_stat_cache(root)
    (root / "skills/a").rename(root / "skills/b")
    found = scan_with_cache(root)
    assert (found.removed, candidate_paths(found)) == (["skills/a/x/y.md"], ["skills/b/x/y.md"])


def test_the_owners_right_to_execute_is_the_only_mode_that_counts(root):
    modes = {"a": 0o4755, "b": 0o777, "c": 0o644, "d": 0o655, "e": 0o2700}
    for name, mode in modes.items():
        put_file(root, name).chmod(mode)
    kinds = {c.path: c.kind for c in scan_with_cache(root).changed}
    assert kinds == {"a": EXECUTABLE, "b": EXECUTABLE, "c": FILE, "d": FILE, "e": EXECUTABLE}


def test_a_change_of_mode_alone_is_seen(root):
    put_file(root, "run.sh").chmod(0o644)
    settle_stat_cache(root)
    (root / "run.sh").chmod(0o755)
    assert [(c.path, c.kind) for c in scan_with_cache(root).changed] == [("run.sh", EXECUTABLE)]


def test_same_size_and_mtime_do_not_hide_another_content(root):
    file = put_file(root, "MEMORY.md", b"aaaa")
    before = file.stat()
    settle_stat_cache(root)
    file.write_bytes(b"bbbb")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert candidate_paths(scan_with_cache(root)) == ["MEMORY.md"]


def test_links_that_stay_inside_are_candidates(root):
    put_file(root, "memory/m.md")
    put_file(root, "skills/a/SKILL.md")
    (root / "skills/a/m").symlink_to("../../memory/m.md")
    (root / "skills/a/dangling").symlink_to("nowhere")
    (root / "skills/folder").symlink_to("a")
    kinds = {c.path: c.kind for c in scan_with_cache(root).changed}
    assert kinds["skills/a/m"] == kinds["skills/a/dangling"] == kinds["skills/folder"] == LINK
    assert "skills/folder/SKILL.md" not in kinds


def test_a_notice_is_given_each_time(root):
    put_file(root, "skills/a/SKILL.md")
    os.mkfifo(root / "skills/a/pipe")
    settle_stat_cache(root)
    for _ in range(3):
        found = scan_with_cache(root)
        assert [(n.code, n.path) for n in found.notices] == [("not_regular", "skills/a/pipe")]
        assert candidate_paths(found) == []
        save_stat_cache(root, found)


def test_ignored_folders_are_not_looked_into(root):
    put_file(root, "skills/a/node_modules/huge.js")
    os.mkfifo(root / "skills/a/node_modules/pipe")
    put_file(root, ".env")
    put_file(root, "skills/a/SKILL.md")
    found = scan_with_cache(root)
    assert (candidate_paths(found), found.notices) == (["skills/a/SKILL.md"], [])


def test_a_cache_made_under_other_rules_is_not_trusted(root):
    put_file(root, "a.txt")
    put_file(root, "b.md")
    settle_stat_cache(root)
    put_file(root, ".brainignore", b"*.txt\n")
    found = scan_with_cache(root)
    assert candidate_paths(found) == [".brainignore", "b.md"]
    assert found.removed == []


def test_empty_folders_count_for_nothing(root):
    (root / "skills/empty").mkdir(parents=True)
    assert (candidate_paths(scan_with_cache(root)), scan_with_cache(root).files) == ([], 0)


@pytest.mark.parametrize("cached", [False, True], ids=["afresh", "cached"])
def test_more_files_than_the_limit_are_refused(root, monkeypatch, cached):
    for number in range(5):
        put_file(root, f"skills/{number}.md")
    if cached:
        settle_stat_cache(root)
    monkeypatch.setattr(limits, "MAX_FILES", 5)
    assert scan_with_cache(root).files == 5
    put_file(root, "one-more.md")
    with raises_code("too_many", InvalidInput):
        scan_with_cache(root)


def test_progress_is_told_while_folders_are_walked_and_compared(root):
    for number in range(1100):
        put_file(root, f"memory/{number}.md")
    reports: list[tuple[str, int, int]] = []
    scan_files(root, IgnoreRules(), None, lambda *args: reports.append(args))
    assert reports == [("scanning", 1024, 0)]
    settle_stat_cache(root)
    reports.clear()
    found = scan_with_cache(root)
    scan_files(root, IgnoreRules(), found.cache, lambda *args: reports.append(args))
    assert reports[-1][0] == "scanning"
    assert reports[-1][2] == 1100 + 2  # two folders


def test_a_root_reached_through_a_link_is_the_users_choice(root, tmp_path):
    put_file(root, "MEMORY.md")
    (tmp_path / "link").symlink_to(root)
    assert candidate_paths(scan_without_cache(tmp_path / "link")) == ["MEMORY.md"]


def test_a_root_that_is_not_there_is_an_error(tmp_path):
    with raises_code("read_failed", InvalidInput):
        scan_without_cache(tmp_path / "nowhere")
