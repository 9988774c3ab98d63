"""What a killed writer leaves is removed, and nothing else."""

import os
import signal
import subprocess
import sys

import pytest

from brain.worktree.file_writer import remove_temporary_files
from tests.support.worktree_scans import plain_file, put_file, read_all_files, scan_with_cache

SCRIPT = """
import os, signal, sys
from brain.objects.tree_entry import FILE
from brain.worktree.file_checkout import write_working_files

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
