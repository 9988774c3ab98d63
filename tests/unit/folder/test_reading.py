"""Reading: one consistent state of a regular file inside the brain, or an error."""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from brain.errors import InvalidInput
from brain.folder import handles, read
from brain.folder.read import (
    STREAMED_FILE_BYTES,
    CandidateFile,
    LargeFile,
    read_bounded_file,
    read_candidates,
    read_working_file,
)
from brain.objects.tree_node import EXECUTABLE, FILE, LINK
from tests.support.worktree_scans import put_file, scan_without_cache


def candidates(root: Path) -> list[CandidateFile]:
    return scan_without_cache(root).changed


def code_of(action: Callable[[], object]) -> str:
    with pytest.raises(InvalidInput) as caught:
        action()
    return caught.value.code


def test_files_come_with_what_they_were_when_they_were_read(root):
    put_file(root, "a/b/c.md", b"one")
    put_file(root, "a/run.sh", b"two").chmod(0o755)
    (root / "a/l").symlink_to("b/c.md")
    found = candidates(root)
    put_file(root, "a/b/c.md", b"three")
    out = {now.path: (now.kind, now.size, content) for now, content in read_candidates(root, found)}
    assert out == {
        "a/b/c.md": (FILE, 5, b"three"),
        "a/l": (LINK, 6, b"b/c.md"),
        "a/run.sh": (EXECUTABLE, 3, b"two"),
    }
    for now, _ in read_candidates(root, found):
        assert now.fingerprint == handles.fingerprint_of((root / now.path).lstat())


def test_an_empty_file_is_read(root):
    put_file(root, "empty", b"")
    assert [content for _, content in read_candidates(root, candidates(root))] == [b""]


def test_a_large_file_is_given_to_be_streamed_and_closed_afterwards(root):
    content = bytes(range(256)) * (STREAMED_FILE_BYTES // 256)
    put_file(root, "large", content)
    put_file(root, "small", content[:-1])
    opened: list[LargeFile] = []
    for now, large in read_candidates(root, candidates(root)):
        if isinstance(large, LargeFile):
            assert (now.path, now.size, large.size) == (
                "large",
                STREAMED_FILE_BYTES,
                STREAMED_FILE_BYTES,
            )
            assert large.raw.readall() == content
            large.raw.seek(STREAMED_FILE_BYTES - 2)
            assert large.raw.read(9) == b"\xfe\xff"
            large.verify_unchanged()
            opened.append(large)
        else:
            assert large == content[:-1]
    assert opened[0].raw.closed


@pytest.mark.parametrize("how", ["append", "rewrite", "truncate"])
def test_files_13_a_large_file_that_changes_while_it_is_read_is_reported(root, how):
    file = put_file(root, "large", b"a" * STREAMED_FILE_BYTES)
    for _, large in read_candidates(root, candidates(root)):
        assert isinstance(large, LargeFile)
        large.raw.read(100)
        if how == "append":
            with file.open("ab") as more:
                more.write(b"b")
        elif how == "rewrite":
            file.write_bytes(b"b" * STREAMED_FILE_BYTES)
        else:
            os.truncate(file, 50)
        assert code_of(large.verify_unchanged) == "changed_while_reading"


def test_files_13_a_small_file_is_read_again_until_it_holds_still(root, monkeypatch):
    file = put_file(root, "m", b"0")
    found = candidates(root)
    real_read, times = os.read, []

    def read_and_disturb(fd: int, size: int) -> bytes:
        content = real_read(fd, size)
        times.append(content)
        if len(times) < 4:
            file.write_bytes(b"%d" % len(times))
        return content

    monkeypatch.setattr(os, "read", read_and_disturb)
    [(_, content)] = list(read_candidates(root, found))
    assert (content, len(times)) == (b"3", 4)


def test_files_13_a_small_file_that_never_holds_still_is_reported(root, monkeypatch):
    file = put_file(root, "m", b"")
    found = candidates(root)
    real_read = os.read

    def read_and_disturb(fd: int, size: int) -> bytes:
        content = real_read(fd, size)
        with file.open("ab") as more:
            more.write(b"x")
        return content

    monkeypatch.setattr(os, "read", read_and_disturb)
    assert code_of(lambda: list(read_candidates(root, found))) == "changed_while_reading"


def test_a_file_that_vanished_is_reported_by_name(root):
    put_file(root, "a/gone.md")
    found = candidates(root)
    (root / "a/gone.md").unlink()
    with pytest.raises(InvalidInput, match=r"a/gone\.md"):
        list(read_candidates(root, found))
    (root / "a").rmdir()
    assert code_of(lambda: list(read_candidates(root, found))) == "changed_while_reading"


def test_files_03_a_folder_that_became_a_link_is_not_gone_through(root, tmp_path):
    put_file(root, "skills/x/SKILL.md", b"mine")
    found = candidates(root)
    (root / "skills/x").rename(tmp_path / "other")
    put_file(tmp_path, "other/SKILL.md", b"secret")
    (root / "skills/x").symlink_to(tmp_path / "other")
    assert code_of(lambda: list(read_candidates(root, found))) == "unsafe_path"
    assert code_of(lambda: read_working_file(root, "skills/x/SKILL.md")) == "unsafe_path"


@pytest.mark.parametrize(
    "path", ["../secret", "a/../../secret", "/etc/passwd", "a//b", "./a/b", ".."]
)
def test_a_path_that_leads_outside_is_not_read(root, tmp_path, path):
    put_file(tmp_path, "secret", b"secret")
    put_file(root, "a/b")
    with pytest.raises(InvalidInput):
        list(read_candidates(root, [CandidateFile(path, FILE, 1, b"")]))


def test_files_04_a_link_swapped_in_at_any_moment_is_never_followed(root, tmp_path):
    secret = put_file(tmp_path, "secret", b"secret")
    file = put_file(root, "skills/x/SKILL.md", b"mine")
    found = candidates(root)
    stop = threading.Event()

    def swap() -> None:
        link, plain = root / "link", root / "plain"
        while not stop.is_set():
            link.symlink_to(secret)
            link.replace(file)
            plain.write_bytes(b"mine")
            plain.replace(file)

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen: set[bytes] = set()
    try:
        for _ in range(3000):
            with suppress(InvalidInput):
                seen.update(content for _, content in read_candidates(root, found) if content)
    finally:
        stop.set()
        swapper.join()
    assert seen <= {b"mine"}


def test_files_04_a_folder_swapped_for_a_link_at_any_moment_is_never_entered(root, tmp_path):
    put_file(tmp_path, "outside/SKILL.md", b"secret")
    put_file(root, "skills/x/SKILL.md", b"mine")
    found = candidates(root)
    stop = threading.Event()

    def swap() -> None:
        folder, aside = root / "skills/x", root / "skills/aside"
        while not stop.is_set():
            folder.rename(aside)
            folder.symlink_to(tmp_path / "outside")
            folder.unlink()
            aside.rename(folder)

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen: set[bytes] = set()
    scanned: set[str] = set()
    try:
        for _ in range(2000):
            with suppress(InvalidInput):
                seen.update(content for _, content in read_candidates(root, found) if content)
                scanned.update(candidate.path for candidate in candidates(root))
    finally:
        stop.set()
        swapper.join()
    assert seen <= {b"mine"}
    assert scanned <= {"skills/x/SKILL.md", "skills/aside/SKILL.md", "skills/x", "skills/aside"}


def test_one_file_is_read_whole_up_to_a_limit(root):
    put_file(root, "a/m.md", b"12345")
    put_file(root, "large", b"x" * STREAMED_FILE_BYTES)
    (root / "l").symlink_to("a/m.md")
    assert read_working_file(root, "a/m.md") == b"12345"
    assert read_bounded_file(root, "a/m.md", 5) == b"12345"
    assert read_bounded_file(root, "a/m.md", 4) is None
    assert read_bounded_file(root, "large", STREAMED_FILE_BYTES - 1) is None
    assert read_working_file(root, "large") == b"x" * STREAMED_FILE_BYTES
    assert read_working_file(root, "l") == b"a/m.md"
    assert code_of(lambda: read_working_file(root, "nowhere/x")) == "changed_while_reading"


def test_no_descriptor_stays_open(root):
    for name in "abc":
        put_file(root, f"{name}/x/y")
        put_file(root, f"{name}/large", b"x" * STREAMED_FILE_BYTES)
    found = candidates(root)
    before = sorted(os.listdir("/proc/self/fd"))
    walk = read.read_candidates(root, found)
    for _ in range(4):
        next(walk)
    walk.close()
    (root / "b/large").unlink()
    with pytest.raises(InvalidInput):
        list(read_candidates(root, found))
    assert sorted(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("kind", ["fifo", "folder", "zero"])
def test_files_06_what_is_not_a_regular_file_is_not_read_even_if_asked_for(root, kind):
    path = root / "odd"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    expected = {"fifo": "not_regular", "folder": "changed_while_reading", "zero": "link_outside"}
    assert code_of(lambda: read_working_file(root, "odd")) == expected[kind]
    odd = CandidateFile("odd", FILE, 0, handles.fingerprint_of(path.lstat()))
    assert code_of(lambda: list(read_candidates(root, [odd]))) in (
        "not_regular",
        "changed_while_reading",
    )
