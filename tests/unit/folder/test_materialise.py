"""Files are written whole, with their rights, and nothing is left over."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from brain.errors import BrainError, Conflict, InvalidInput
from brain.folder.write import (
    FileItem,
    remove_temporary_files,
    remove_working_file,
    write_working_files,
)
from brain.objects.tree_node import EXECUTABLE, FILE, LINK
from tests.support.cases import read_cases
from tests.support.refusals import raises_code
from tests.support.worktree_scans import plain_file, put_file, read_all_files, scan_with_cache

CASES = read_cases(__file__)


def write(root: Path, item: FileItem) -> None:
    write_working_files(root, [item])


def test_a_file_is_written_with_its_folders(root):
    write(root, ("skills/x/references/a.md", FILE, b"content"))
    write(root, ("TOP.md", FILE, b""))
    assert read_all_files(root) == {
        "skills/x/references/a.md": plain_file(b"content"),
        "TOP.md": plain_file(b""),
    }
    assert sorted(os.listdir(root)) == [".brain", "TOP.md", "skills"]
    assert os.listdir(root / "skills/x/references") == ["a.md"]


def test_content_in_pieces_is_written_in_order(root):
    write(root, ("memory/large", FILE, iter([b"a" * 300_000, b"", b"b"])))
    assert (root / "memory/large").read_bytes() == b"a" * 300_000 + b"b"


@pytest.mark.parametrize(
    ("kind", "mask", "mode"),
    [
        (FILE, 0o022, 0o644),
        (EXECUTABLE, 0o022, 0o755),
        (FILE, 0o077, 0o600),
        (EXECUTABLE, 0o077, 0o700),
        (FILE, 0, 0o644),
    ],
)
def test_files_21_modes_of_new_files_are_two_less_the_umask(root, kind, mask, mode):
    put_file(root, "s/other")
    (root / "s/link").symlink_to("other")
    before = os.umask(mask)
    try:
        for path in ("s/new", "s/link", "new/folder/file"):
            write(root, (path, kind, b"x"))
    finally:
        os.umask(before)
    for path in ("s/new", "s/link", "new/folder/file"):
        assert stat.S_IMODE((root / path).lstat().st_mode) == mode
    assert stat.S_IMODE((root / "new").stat().st_mode) == 0o777 & ~mask


@pytest.mark.parametrize(
    ("old", "kind", "new"),
    [
        (0o600, FILE, 0o600),
        (0o640, FILE, 0o640),
        (0o664, FILE, 0o664),
        (0o444, FILE, 0o444),
        (0o4755, FILE, 0o644),
        (0o700, EXECUTABLE, 0o700),
        (0o744, EXECUTABLE, 0o744),
        (0o640, EXECUTABLE, 0o750),
        (0o700, FILE, 0o600),
        (0, FILE, 0o400),
        (0o200, EXECUTABLE, 0o700),
    ],
)
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_file_in_place_of_a_file_keeps_its_permissions(root, mask, old, kind, new):
    put_file(root, "s/old").chmod(old)
    before = os.umask(mask)
    try:
        write(root, ("s/old", kind, b"x"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "s/old").stat().st_mode) == new


def test_files_27_a_read_only_file_is_replaced_and_others_who_hold_it_keep_it(root):
    file = put_file(root, "s/a", b"old")
    os.link(file, root / "s/second")
    file.chmod(0o444)
    with file.open("rb") as held:
        write(root, ("s/a", FILE, b"new"))
        assert held.read() == b"old"
    assert file.read_bytes() == b"new"
    assert (root / "s/second").read_bytes() == b"old"


@pytest.mark.parametrize("kind", [FILE, LINK])
def test_files_27_a_link_of_that_name_is_replaced_and_not_followed(root, tmp_path, kind):
    outside = put_file(tmp_path, "outside", b"untouched")
    (root / "s").mkdir()
    (root / "s/a").symlink_to(outside)
    write(root, ("s/a", kind, b"b"))
    assert outside.read_bytes() == b"untouched"
    assert (root / "s/a").is_symlink() == (kind == LINK)


@pytest.mark.parametrize("under", ["s", "s/t", "s/t/u/v"])
def test_files_27_nothing_is_written_or_removed_through_a_link(root, tmp_path, under):
    outside = put_file(tmp_path, "outside/t/u/v/a", b"untouched")
    link = root / under
    link.parent.mkdir(parents=True, exist_ok=True)
    target = tmp_path / "outside" / Path(under).relative_to("s")
    link.symlink_to(target)
    for path in (f"{under}/a", f"{under}/t/new", f"{under}/fresh/folder/new"):
        with raises_code("unsafe_path", InvalidInput):
            write(root, (path, FILE, b"x"))
        with raises_code("unsafe_path", InvalidInput):
            remove_working_file(root, path)
    assert outside.read_bytes() == b"untouched"
    assert [p.name for p in sorted(tmp_path.rglob("new"))] == []


def test_a_file_in_place_of_a_folder_is_not_gone_through(root):
    put_file(root, "s/a")
    with raises_code("unsafe_path", InvalidInput):
        write(root, ("s/a/b", FILE, b"x"))
    with raises_code("unsafe_path", InvalidInput):
        remove_working_file(root, "s/a/b")
    assert read_all_files(root) == {"s/a": plain_file(b"text\n")}


def test_files_19_a_folder_with_something_in_it_is_not_replaced_by_a_file(root):
    put_file(root, "s/a/b")
    with raises_code("path_conflict", Conflict):
        write(root, ("s/a", FILE, b"x"))
    with pytest.raises(Conflict):
        remove_working_file(root, "s/a")
    assert read_all_files(root) == {"s/a/b": plain_file(b"text\n")}
    assert os.listdir(root / "s") == ["a"]


def test_an_empty_folder_gives_way_to_a_file(root):
    (root / "s/a").mkdir(parents=True)
    write(root, ("s/a", FILE, b"x"))
    assert read_all_files(root) == {"s/a": plain_file(b"x")}


@pytest.mark.parametrize("path", CASES["test_a_path_outside_or_of_version_control_is_refused"])
def test_a_path_outside_or_of_version_control_is_refused(root, tmp_path, path):
    with pytest.raises(InvalidInput):
        write(root, (path, FILE, b"x"))
    with pytest.raises(InvalidInput):
        remove_working_file(root, path)
    assert os.listdir(tmp_path) == ["brain"]
    assert sorted(os.listdir(root)) == [".brain"]
    assert os.listdir(root / ".brain") == []


def test_links_are_written_as_their_text(root):
    write(root, ("s/x/l", LINK, b"../../memory/m.md"))
    assert os.readlink(root / "s/x/l") == "../../memory/m.md"
    write(root, ("s/x/l", LINK, iter([b"..", b"/y"])))
    assert os.readlink(root / "s/x/l") == "../y"


@pytest.mark.parametrize(
    "target", [b"/etc/passwd", b"../../../x", b"", b"a\0b", b"\xff", b"x" * 5000, b"../.git/config"]
)
def test_files_01_a_link_that_leads_outside_is_not_written(root, target):
    with raises_code("link_outside", InvalidInput):
        write(root, ("s/l", LINK, target))
    assert read_all_files(root) == {}


def fail_halfway() -> Iterator[bytes]:
    yield b"half"
    raise KeyboardInterrupt


def test_a_file_whose_content_fails_halfway_is_left_as_it_was(root):
    put_file(root, "s/a", b"old")
    for path in ("s/a", "s/b", "t/u/a"):
        with pytest.raises(KeyboardInterrupt):
            write(root, (path, FILE, fail_halfway()))
    assert read_all_files(root) == {"s/a": plain_file(b"old")}
    assert os.listdir(root / "s") == ["a"]
    assert {".brain-tmp" in name for name in os.listdir(root)} == {False}


def test_new_folders_appear_as_a_whole_or_not_at_all(root):
    put_file(root, "s/old", b"old")

    def items() -> Iterator[FileItem]:
        yield "s/new/a", FILE, b"a"
        yield "t/b/c", FILE, b"c"
        yield "s/new/deep/d", FILE, b"d"
        assert not (root / "s/new").exists()
        assert not (root / "t").exists()
        yield "t/b/fails", FILE, fail_halfway()

    with pytest.raises(KeyboardInterrupt):
        write_working_files(root, items())
    assert read_all_files(root) == {"s/old": plain_file(b"old")}
    assert sorted(os.listdir(root)) == [".brain", "s"]


def test_a_folder_somebody_filled_meanwhile_is_a_conflict(root):
    def items() -> Iterator[FileItem]:
        yield "s/x/a", FILE, b"ours"
        put_file(root, "s/x/a", b"theirs")

    with raises_code("path_conflict", Conflict):
        write_working_files(root, items())
    assert read_all_files(root) == {"s/x/a": plain_file(b"theirs")}


@pytest.mark.parametrize("order", [1, -1])
def test_many_files_in_any_order_come_out_right(root, order):
    put_file(root, "skills/s3/SKILL.md", b"old")
    put_file(root, "skills/kept.md", b"kept")
    wanted = {f"skills/s{n}/SKILL.md": b"%d" % n for n in range(60)}
    wanted |= {f"skills/s{n}/references/{n}.md": b"r%d" % n for n in range(60)}
    wanted |= {f"memory/{n % 7}/{n}.md": b"m%d" % n for n in range(60)}
    reports: list[tuple[str, int, int]] = []
    items = [(path, FILE, content) for path, content in wanted.items()][::order]
    write_working_files(root, items, lambda *args: reports.append(args))
    wanted["skills/kept.md"] = b"kept"
    assert read_all_files(root) == {path: plain_file(content) for path, content in wanted.items()}
    assert sorted(os.listdir(root)) == [".brain", "memory", "skills"]


def test_progress_is_told_now_and_then(root):
    reports: list[tuple[str, int, int]] = []
    items = [(f"m/{n}", FILE, b"") for n in range(2050)]
    write_working_files(root, items, lambda *args: reports.append(args))
    assert reports == [("writing", 1024, 0), ("writing", 2048, 0)]


def test_removing_takes_the_folders_it_empties_but_not_the_section(root):
    put_file(root, "skills/x/references/deep/a.md")
    put_file(root, "skills/x/SKILL.md")
    put_file(root, "TOP.md")
    remove_working_file(root, "skills/x/references/deep/a.md")
    assert os.listdir(root / "skills/x") == ["SKILL.md"]
    remove_working_file(root, "skills/x/SKILL.md")
    remove_working_file(root, "TOP.md")
    assert sorted(os.listdir(root)) == [".brain", "skills"]
    assert os.listdir(root / "skills") == []


def test_removing_a_link_leaves_what_it_leads_to(root):
    put_file(root, "s/a")
    (root / "s/l").symlink_to("a")
    remove_working_file(root, "s/l")
    assert os.listdir(root / "s") == ["a"]


@pytest.mark.parametrize("path", ["nothing", "s/nothing", "s/no/thing/here"])
def test_removing_what_is_not_there_is_no_error(root, path):
    put_file(root, "s/a")
    remove_working_file(root, path)
    assert read_all_files(root) == {"s/a": plain_file(b"text\n")}


def test_a_root_without_room_gives_a_typed_error(root):
    """/dev/full refuses every write; the same error comes from a full disk."""
    (root / "s").mkdir()
    real_write = os.write

    def full(fd: int, data: bytes) -> int:
        with open("/dev/full", "wb", buffering=0) as device:
            return real_write(device.fileno(), data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", full)
        for path in ("s/a", "t/a"):
            with raises_code("unwritable", BrainError):
                write(root, (path, FILE, b"x"))
    assert os.listdir(root / "s") == []


def test_short_writes_are_carried_on(root):
    real_write = os.write
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: real_write(fd, bytes(data[:3])))
        write(root, ("s/a", FILE, b"0123456789"))
    assert (root / "s/a").read_bytes() == b"0123456789"


def test_no_descriptor_stays_open_after_success_or_failure(root):
    put_file(root, "s/folder/x")
    before = sorted(os.listdir("/proc/self/fd"))
    write(root, ("s/t/u/a", FILE, b"x"))
    remove_working_file(root, "s/t/u/a")
    for path in ("s/folder", "s/folder/x/y"):
        with pytest.raises(BrainError):
            write(root, (path, FILE, b"x"))
    with pytest.raises(KeyboardInterrupt):
        write(root, ("s/v/a", FILE, fail_halfway()))
    assert sorted(os.listdir("/proc/self/fd")) == before


SCRIPT = """
import os, signal, sys
from brain.objects.tree_node import FILE
from brain.folder.write import write_working_files

def dying():
    yield b"half"
    os.kill(os.getpid(), signal.SIGKILL)

write_working_files(sys.argv[1], [("new/folder/a", FILE, b"x"), (sys.argv[2], FILE, dying())])
"""


@pytest.mark.parametrize("path", ["skills/x/SKILL.md", "new/folder/b", "TOP.md"])
def test_what_a_killed_writer_left_is_not_seen_and_can_be_removed(root, path):
    put_file(root, "skills/x/SKILL.md", b"old")
    before = read_all_files(root)
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(root), path], check=False)
    assert done.returncode == -signal.SIGKILL
    assert list(root.rglob(".brain-tmp-*"))
    assert (read_all_files(root), scan_with_cache(root).notices) == (before, [])
    remove_temporary_files(root, [path, "gone/folder/x"])
    assert not list(root.rglob(".brain-tmp-*"))
    assert read_all_files(root) == before


def test_only_names_of_ours_are_removed(root):
    kept = ["x.brain-tmp-0123456789abcdef", ".brain-tmp-mine", ".brain-tmpx", "a"]
    for name in kept:
        put_file(root, f"s/{name}")
    put_file(root, "s/.brain-tmp-0123456789abcdef00000001")
    put_file(root, ".brain/.brain-tmp-0123456789abcdef")
    put_file(root, "other/.brain-tmp-0123456789abcdef")
    remove_temporary_files(root, ["s/a"])
    assert sorted(os.listdir(root / "s")) == sorted(kept)
    assert os.listdir(root / ".brain") == []
    assert os.listdir(root / "other") == [".brain-tmp-0123456789abcdef"]


def test_nothing_is_removed_through_a_link(root, tmp_path):
    name = ".brain-tmp-0123456789abcdef"
    put_file(tmp_path, f"outside/{name}")
    put_file(tmp_path, "outside/folder/precious")
    (root / "s").symlink_to(tmp_path / "outside")
    put_file(root, "t/a")
    (root / "t" / name).symlink_to(tmp_path / "outside/folder")
    remove_temporary_files(root, ["s/a", "t/a", "../outside/x"])
    assert (tmp_path / "outside" / name).exists()
    assert (tmp_path / "outside/folder/precious").exists()
    assert read_all_files(root)["t/a"] == plain_file(b"text\n")
    assert os.listdir(root / "t") == ["a"]
