"""Files that a brain refuses or leaves out, by the rows of the catalogue of bad inputs."""

import os
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from brain import limits
from brain.errors import InvalidInput
from brain.folder.read import read_candidates
from brain.repo.working_copy import refuse_skipped
from tests.support.refusals import raises_code
from tests.support.worktree_scans import (
    candidate_paths,
    put_file,
    read_all_files,
    scan_with_cache,
    settle_stat_cache,
)


def mkdirs(root: Path, depth: int, name: str) -> None:
    """Make folders in folders, one after the other: no path may be that long."""
    fd = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)


def flatten(root: Path, name: str) -> None:
    """Remove what `mkdirs` made, from the top down: others would recurse into it."""
    while (root / name).is_dir():
        below = root / name / name
        if below.is_dir():
            below.rename(root / "below")
        (root / name).rmdir()
        if (root / "below").is_dir():
            (root / "below").rename(root / name)


def sparse(root: Path) -> None:
    put_file(root, "big", b"")
    os.truncate(root / "big", 10 << 30)


def raw(name: bytes) -> Callable[[Path], None]:
    def make(root: Path) -> None:
        (root / "skills").mkdir()
        os.close(os.open(os.fsencode(root / "skills") + b"/" + name, os.O_CREAT | os.O_WRONLY))

    return make


def write_both(first: str, second: str) -> Callable[[Path], None]:
    def make(root: Path) -> None:
        put_file(root, first)
        put_file(root, second)

    return make


def scan_strictly(root: Path) -> None:
    """Raise the error of a scan, or else one for what it skipped."""
    refuse_skipped(scan_with_cache(root).skipped)


REFUSED = [
    pytest.param(sparse, "too_large", "big", id="files-09"),
    pytest.param(raw(b"a\nb"), "bad_char", "a\\nb", id="files-15-newline"),
    pytest.param(raw(b"a\x1b[2J"), "bad_char", "a\\x1b", id="files-15-escape"),
    pytest.param(raw("a\x85b".encode()), "bad_char", "a\\x85b", id="files-15-c1"),
    pytest.param(raw(b"a\\b"), "bad_path", "a", id="files-15-backslash"),
    pytest.param(write_both("a:b", "c"), "bad_path", "a:b", id="files-15-drive"),
    pytest.param(raw(b"GIT~1"), "reserved_name", "skills/GIT~1", id="short-name"),
    pytest.param(raw(b".git. "), "reserved_name", "skills/.git. ", id="dots-and-blanks"),
    pytest.param(raw(b".git:x"), "reserved_name", "skills/.git:x", id="stream"),
    pytest.param(raw(".g\u200cit".encode()), "reserved_name", "skills/.g\\u200cit", id="invisible"),
    pytest.param(raw("a\u202eb".encode()), "bad_char", "skills/a\\u202eb", id="turned-round"),
    pytest.param(raw(b"\xff\xfe"), "bad_name", "skills/", id="files-16"),
    pytest.param(
        write_both("README.md", "readme.md"), "case_collision", "readme.md", id="files-18"
    ),
    pytest.param(write_both("s/A/x", "s/a/y"), "case_collision", "s/a", id="files-18-folders"),
    pytest.param(write_both("caf\u00e9", "cafe\u0301"), "case_collision", "caf", id="files-18-nfc"),
    pytest.param(
        write_both("STRASSE", "stra\u00dfe"), "case_collision", "STRASSE", id="files-18-fold"
    ),
]


@pytest.mark.parametrize("cached", [False, True], ids=["afresh", "cached"])
@pytest.mark.parametrize(("make", "code", "named"), REFUSED)
def test_such_a_file_is_skipped_with_its_reason(root, make, code, named, cached):
    put_file(root, "MEMORY.md")
    if cached:
        settle_stat_cache(root)
    make(root)
    with raises_code(code, InvalidInput) as caught:
        scan_strictly(root)
    assert named in caught.value.message
    assert caught.value.message.isprintable()
    assert caught.value.hint.startswith(("rename", "move it out"))


@pytest.mark.parametrize(
    ("depth", "name", "code"),
    [
        pytest.param(1_200, "d", "too_deep", id="files-10-deep"),
        pytest.param(30, "n" * 40, "bad_path", id="files-10-long"),
    ],
)
def test_folders_too_deep_are_refused_without_recursion(root, depth, name, code):
    mkdirs(root, depth, name)
    try:
        with pytest.raises(InvalidInput) as caught:
            scan_strictly(root)
    finally:
        flatten(root, name)
    assert caught.value.code == code
    assert f"{name}/{name}" in caught.value.message


def test_twins_are_found_when_only_the_second_is_new(root):
    put_file(root, "skills/README.md")
    settle_stat_cache(root)
    put_file(root, "skills/readme.md")
    skipped = scan_with_cache(root).skipped
    assert {path: error.code for path, error in skipped.items()} == {
        "skills/readme.md": "case_collision"
    }


def test_equal_names_in_different_folders_are_no_twins(root):
    put_file(root, "a/README.md")
    put_file(root, "b/readme.md")
    put_file(root, "A.env/x")
    assert len(scan_with_cache(root).changed) == 3


def fifo(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def device(path: Path) -> None:
    if os.geteuid():
        path.symlink_to("/dev/zero")  # only root makes devices; a link to one is left out too
    else:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))


def link_to(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


LEFT_OUT = [
    pytest.param(link_to("/etc/passwd"), "link_outside", id="files-01-absolute"),
    pytest.param(link_to("../../../secret"), "link_outside", id="files-01-relative"),
    pytest.param(link_to("../a/../../../x"), "link_outside", id="files-01-winding"),
    pytest.param(link_to("../../.brain/store.db"), "link_outside", id="files-01-store"),
    pytest.param(link_to("/home"), "link_outside", id="files-03-folder"),
    pytest.param(fifo, "not_regular", id="files-06"),
    pytest.param(unix_socket, "not_regular", id="files-07-socket"),
    pytest.param(device, None, id="files-07-device"),
]


@pytest.mark.parametrize("cached", [False, True], ids=["afresh", "cached"])
@pytest.mark.parametrize(("make", "code"), LEFT_OUT)
def test_such_a_file_is_left_out_with_a_notice(root, make, code, cached, monkeypatch):
    put_file(root, "skills/a/SKILL.md")
    if cached:
        settle_stat_cache(root)
    monkeypatch.chdir(root / "skills/a")  # the path of a socket is short
    make(Path("odd"))
    found = scan_with_cache(root)
    assert [notice.path for notice in found.notices] == ["skills/a/odd"]
    assert found.notices[0].code in ({code} if code else {"not_regular", "link_outside"})
    assert "skills/a/odd" not in candidate_paths(found)
    assert found.files == 1


@pytest.mark.parametrize("make", [fifo, unix_socket, link_to("SKILL.md")])
def test_a_file_that_turned_into_something_else_after_the_scan_is_not_read(root, make, monkeypatch):
    put_file(root, "skills/a/SKILL.md")
    put_file(root, "skills/a/x")
    found = scan_with_cache(root)
    (root / "skills/a/x").unlink()
    monkeypatch.chdir(root / "skills/a")
    make(Path("x"))
    with pytest.raises(InvalidInput) as caught:
        list(read_candidates(root, found.changed))
    assert caught.value.code in ("changed_while_reading", "not_regular")


@pytest.mark.parametrize(
    "name", ['quo"te', "-rf", "sp ace", "C:drive", "ünï", "中文.md", "~x"], ids=repr
)
def test_files_15_odd_names_are_kept_as_they_are(root, name):
    put_file(root, f"skills/{name}")
    assert list(read_all_files(root)) == [f"skills/{name}"]


@pytest.mark.parametrize("seconds", [-1, 0, 2**31, 2**33, (2**63) // 10**9, 253402300799])
def test_files_22_times_far_away_overflow_nothing_and_settle(root, seconds):
    file = put_file(root, "MEMORY.md")
    os.utime(file, ns=(0, seconds * 10**9))
    settle_stat_cache(root)
    in_the_future = file.stat().st_mtime_ns > time.time_ns()  # and so never clearly in the past
    assert candidate_paths(scan_with_cache(root)) == (["MEMORY.md"] if in_the_future else [])
    assert read_all_files(root)["MEMORY.md"][1] == b"text\n"


def test_files_24_binary_is_content_like_any_other(root):
    content = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8
    put_file(root, "skills/a/SKILL.md", content)
    assert read_all_files(root)["skills/a/SKILL.md"][1] == content


def test_a_path_at_the_limits_of_depth_and_length_is_taken(root):
    deepest = "/".join("d" * (limits.MAX_PATH_DEPTH - 1)) + "/file"
    longest = "/".join(["n" * 255] * 3) + "/" + "n" * 256
    put_file(root, deepest)
    put_file(root, longest[: limits.MAX_PATH_BYTES - 1])
    assert len(scan_with_cache(root).changed) == 2


def test_all_names_that_are_refused_are_told_at_once(root):
    for name in ("a\nb", "GIT~1"):
        put_file(root, f"skills/x/{name}")
    put_file(root, "b\\c")
    with pytest.raises(InvalidInput) as caught:
        scan_strictly(root)
    for named in ("a\\nb", "GIT~1", "b\\c"):
        assert named in caught.value.message
    assert caught.value.message.isprintable()


def test_of_very_many_names_that_are_refused_some_are_told(root):
    for number in range(50):
        put_file(root, f"skills/{number}\n")
    with pytest.raises(InvalidInput, match=r"; and 30 more$") as caught:
        scan_strictly(root)
    assert len(caught.value.message) < 2000 and caught.value.code == "bad_char"


def test_a_store_or_repository_in_a_folder_is_left_out_and_named(root):
    put_file(root, "skills/x/.git/config")
    put_file(root, "skills/y/.Brain/store.db")
    put_file(root, "skills/z/.git", b"gitdir: elsewhere")
    put_file(root, ".git/config")
    put_file(root, "skills/x/SKILL.md")
    found = scan_with_cache(root)
    assert candidate_paths(found) == ["skills/x/SKILL.md"]
    assert {(row.code, row.path) for row in found.notices} == {
        ("nested", "skills/x/.git"),
        ("nested", "skills/y/.Brain"),
        ("nested", "skills/z/.git"),
    }


def test_a_file_with_more_than_one_name_is_taken_and_noted(root, tmp_path):
    os.link(put_file(tmp_path, "outside"), root / "SOUL.md")
    put_file(root, "alone")
    found = scan_with_cache(root)
    assert candidate_paths(found) == ["SOUL.md", "alone"]
    assert [(row.code, row.path) for row in found.notices] == [("hard_link", "SOUL.md")]
    assert "2 names" in found.notices[0].message


def test_of_very_many_files_with_more_names_some_are_noted(root):
    first = put_file(root, "0")
    for number in range(1, 30):
        os.link(first, root / str(number))
    notices = scan_with_cache(root).notices
    assert len(notices) == 21 and "10 more" in notices[0].message
