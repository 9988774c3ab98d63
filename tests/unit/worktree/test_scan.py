"""What a scan finds, with and without a cache."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from brain import limits
from brain.errors import InvalidInput
from brain.objects.entry import EXECUTABLE, FILE, LINK
from brain.worktree.ignore import IgnoreRules
from brain.worktree.scan import scan

from .steps import changed, look, look_afresh, put, remember, settle


def test_without_a_cache_every_file_is_a_candidate(root: Path) -> None:
    put(root, "skills/b/SKILL.md", b"12345")
    put(root, "MEMORY.md")
    found = look(root)
    assert [(c.path, c.kind, c.size) for c in found.changed] == [
        ("MEMORY.md", FILE, 5),
        ("skills/b/SKILL.md", FILE, 5),
    ]
    assert (found.removed, found.notices, found.files) == ([], [], 2)


def test_a_settled_folder_shows_no_candidate_and_lists_no_folder(root: Path) -> None:
    put(root, "skills/a/SKILL.md")
    put(root, "memory/MEMORY.md")
    settle(root)
    found = look(root)
    assert (found.changed, found.removed, found.folders, found.files) == ([], [], {}, 2)


def test_one_changed_file_is_the_only_candidate(root: Path) -> None:
    for name in "abc":
        put(root, f"skills/{name}/SKILL.md")
    settle(root)
    put(root, "skills/b/SKILL.md", b"other\n")
    assert changed(look(root)) == ["skills/b/SKILL.md"]


def test_new_files_in_known_and_in_new_folders_are_found(root: Path) -> None:
    put(root, "skills/a/SKILL.md")
    settle(root)
    put(root, "skills/a/notes.md")
    put(root, "skills/b/references/deep/x.md")
    put(root, "TOP.md")
    found = look(root)
    assert changed(found) == ["TOP.md", "skills/a/notes.md", "skills/b/references/deep/x.md"]
    assert found.files == 4


def test_removed_files_are_named_also_when_their_folder_is_gone(root: Path) -> None:
    for path in ("skills/a/SKILL.md", "skills/a/x/y.md", "skills/b/SKILL.md", "TOP.md"):
        put(root, path)
    settle(root)
    for path in ("skills/a/x/y.md", "skills/a/SKILL.md", "TOP.md"):
        (root / path).unlink()
    (root / "skills/a/x").rmdir()
    (root / "skills/a").rmdir()
    found = look(root)
    assert found.removed == ["TOP.md", "skills/a/SKILL.md", "skills/a/x/y.md"]
    assert (changed(found), found.files) == ([], 1)


def test_a_file_that_became_a_folder_is_removed_and_what_it_holds_is_new(root: Path) -> None:
    put(root, "skills/a")
    settle(root)
    (root / "skills/a").unlink()
    put(root, "skills/a/SKILL.md")
    found = look(root)
    assert (found.removed, changed(found)) == (["skills/a"], ["skills/a/SKILL.md"])


def test_a_folder_that_became_a_file_is_a_candidate_and_its_files_are_removed(root: Path) -> None:
    put(root, "skills/a/SKILL.md")
    settle(root)
    (root / "skills/a/SKILL.md").unlink()
    (root / "skills/a").rmdir()
    put(root, "skills/a")
    found = look(root)
    assert (found.removed, changed(found)) == (["skills/a/SKILL.md"], ["skills/a"])


def test_a_folder_moved_away_with_a_link_in_its_place_is_gone(root: Path, tmp_path: Path) -> None:
    put(root, "skills/a/SKILL.md")
    put(root, "skills/a/x/y.md")
    settle(root)
    (root / "skills/a").rename(tmp_path / "elsewhere")
    (root / "skills/a").symlink_to(tmp_path / "elsewhere")
    found = look(root)
    assert (found.removed, changed(found)) == (["skills/a/SKILL.md", "skills/a/x/y.md"], [])
    assert [(n.code, n.path) for n in found.notices] == [("link_outside", "skills/a")]


def test_a_renamed_folder_takes_its_files_along(root: Path) -> None:
    put(root, "skills/a/x/y.md")
    settle(root)
    (root / "skills/a").rename(root / "skills/b")
    found = look(root)
    assert (found.removed, changed(found)) == (["skills/a/x/y.md"], ["skills/b/x/y.md"])


def test_the_owners_right_to_execute_is_the_only_mode_that_counts(root: Path) -> None:
    modes = {"a": 0o4755, "b": 0o777, "c": 0o644, "d": 0o655, "e": 0o2700}
    for name, mode in modes.items():
        put(root, name).chmod(mode)
    kinds = {c.path: c.kind for c in look(root).changed}
    assert kinds == {"a": EXECUTABLE, "b": EXECUTABLE, "c": FILE, "d": FILE, "e": EXECUTABLE}


def test_a_change_of_mode_alone_is_seen(root: Path) -> None:
    put(root, "run.sh").chmod(0o644)
    settle(root)
    (root / "run.sh").chmod(0o755)
    assert [(c.path, c.kind) for c in look(root).changed] == [("run.sh", EXECUTABLE)]


def test_same_size_and_mtime_do_not_hide_another_content(root: Path) -> None:
    file = put(root, "MEMORY.md", b"aaaa")
    before = file.stat()
    settle(root)
    file.write_bytes(b"bbbb")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert changed(look(root)) == ["MEMORY.md"]


def test_links_that_stay_inside_are_candidates(root: Path) -> None:
    put(root, "memory/m.md")
    put(root, "skills/a/SKILL.md")
    (root / "skills/a/m").symlink_to("../../memory/m.md")
    (root / "skills/a/dangling").symlink_to("nowhere")
    (root / "skills/folder").symlink_to("a")
    kinds = {c.path: c.kind for c in look(root).changed}
    assert kinds["skills/a/m"] == kinds["skills/a/dangling"] == kinds["skills/folder"] == LINK
    assert "skills/folder/SKILL.md" not in kinds


def test_a_notice_is_given_each_time(root: Path) -> None:
    put(root, "skills/a/SKILL.md")
    os.mkfifo(root / "skills/a/pipe")
    settle(root)
    for _ in range(3):
        found = look(root)
        assert [(n.code, n.path) for n in found.notices] == [("not_regular", "skills/a/pipe")]
        assert changed(found) == []
        remember(root, found)


def test_ignored_folders_are_not_looked_into(root: Path) -> None:
    put(root, "skills/a/node_modules/huge.js")
    os.mkfifo(root / "skills/a/node_modules/pipe")
    put(root, ".env")
    put(root, "skills/a/SKILL.md")
    found = look(root)
    assert (changed(found), found.notices) == (["skills/a/SKILL.md"], [])


def test_a_cache_made_under_other_rules_is_not_trusted(root: Path) -> None:
    put(root, "a.txt")
    put(root, "b.md")
    settle(root)
    put(root, ".brainignore", b"*.txt\n")
    found = look(root)
    assert changed(found) == [".brainignore", "b.md"]
    assert found.removed == []


def test_empty_folders_count_for_nothing(root: Path) -> None:
    (root / "skills/empty").mkdir(parents=True)
    assert (changed(look(root)), look(root).files) == ([], 0)


@pytest.mark.parametrize("cached", [False, True], ids=["afresh", "cached"])
def test_more_files_than_the_limit_are_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch, cached: bool
) -> None:
    for number in range(5):
        put(root, f"skills/{number}.md")
    if cached:
        settle(root)
    monkeypatch.setattr(limits, "MAX_FILES", 5)
    assert look(root).files == 5
    put(root, "one-more.md")
    with pytest.raises(InvalidInput) as caught:
        look(root)
    assert caught.value.code == "too_many"


def test_progress_is_told_while_folders_are_walked_and_compared(root: Path) -> None:
    for number in range(1100):
        put(root, f"memory/{number}.md")
    told: list[tuple[str, int, int]] = []
    scan(root, IgnoreRules(), None, lambda *args: told.append(args))
    assert told == [("scanning", 1024, 0)]
    settle(root)
    told.clear()
    found = look(root)
    scan(root, IgnoreRules(), found.cache, lambda *args: told.append(args))
    assert told[-1][0] == "scanning"
    assert told[-1][2] == 1100 + 2  # two folders


def test_a_root_reached_through_a_link_is_the_users_choice(root: Path, tmp_path: Path) -> None:
    put(root, "MEMORY.md")
    (tmp_path / "link").symlink_to(root)
    assert changed(look_afresh(tmp_path / "link")) == ["MEMORY.md"]


def test_a_root_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        look_afresh(tmp_path / "nowhere")
    assert caught.value.code == "unreadable"
