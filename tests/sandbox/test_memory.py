"""Control groups for the memory of jobs: where they can be made, and that none is left."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from brain.sandbox import bubblewrap, memory
from brain.sandbox.job import SandboxLimits
from brain.sandbox.memory import MemoryGroup, find_group_parent, memory_group

FIRST = "30 20 0:26 / {} rw - cgroup cgroup rw,memory"
SECOND = "31 20 0:27 / {} rw - cgroup2 cgroup2 rw"


@pytest.fixture
def find(monkeypatch, tmp_path):
    """Find the parent for a process with these groups and mounts."""

    def find_for(groups: str, *mounts: str) -> MemoryGroup | None:
        rows = {"/proc/self/cgroup": groups, "/proc/self/mountinfo": "\n".join(mounts)}
        read = Path.read_text
        monkeypatch.setattr(
            Path, "read_text", lambda path: rows[str(path)] if str(path) in rows else read(path)
        )
        return find_group_parent.__wrapped__()

    return find_for


def make_group(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True)
    for name, text in {"procs": "", **files}.items():
        (folder / f"cgroup.{name}").write_text(text)
    return folder


def test_groups_of_version_1_are_made_below_that_of_this_process(find, tmp_path):
    own = make_group(tmp_path / "a" / "b")
    groups = "5:cpu:/x\n4:memory:/a/b\n0::/z\n"
    assert find(groups, FIRST.format(tmp_path)) == MemoryGroup(own, 1)
    assert find(groups, FIRST.format(tmp_path).replace("memory", "cpu")) is None


def test_groups_of_version_2_are_made_beside_that_of_this_process(find, tmp_path):
    parent = make_group(tmp_path / "user", subtree_control="cpu memory pids\n")
    make_group(parent / "shell", type="domain\n", subtree_control="")
    assert find("0::/user/shell\n", SECOND.format(tmp_path)) == MemoryGroup(parent, 2)


def test_groups_of_version_2_are_made_below_the_topmost(find, tmp_path):
    top = make_group(tmp_path / "top", subtree_control="memory\n")
    assert find("0::/\n", SECOND.format(top)) == MemoryGroup(top, 2)


def test_the_part_of_a_path_above_the_mount_is_left_out(find, tmp_path):
    own = make_group(tmp_path / "b")
    mount = FIRST.format(tmp_path).replace(" / ", " /docker/a ")
    assert find("4:memory:/docker/a/b\n", mount) == MemoryGroup(own, 1)
    assert find("4:memory:/docker/ab\n", mount) is None


def test_there_are_none_where_memory_is_not_controlled(find, tmp_path):
    make_group(tmp_path / "top", subtree_control="cpu\n")
    assert find("0::/\n", SECOND.format(tmp_path / "top")) is None
    assert find("0::/\n", SECOND.format(tmp_path / "missing")) is None
    assert find("", "") is None


def test_where_no_group_can_be_made_after_all_there_is_none(tmp_path, monkeypatch):
    missing = MemoryGroup(tmp_path / "x", 1)
    monkeypatch.setattr(memory, "find_group_parent", lambda: missing)
    with memory_group(1) as group:
        assert group is None


parent = find_group_parent()

if parent is not None:  # else this user can make none, and each process has a part of the limit
    folder = parent.folder

    def groups_left() -> list[Path]:
        return list(folder.glob("brain-sandbox-*"))

    def test_a_job_of_several_processes_leaves_no_group(run, monkeypatch):
        made = []  # those that this job makes: other tests run jobs meanwhile

        @contextmanager
        def noted(size: int) -> Iterator[memory.MemoryGroup | None]:
            with memory_group(size) as group:
                made.append(group)
                yield group

        monkeypatch.setattr(bubblewrap, "memory_group", noted)
        code = "import os\nif os.fork() == 0:\n    os._exit(0)\nprint(os.wait()[1])\n"
        assert run(code, limits=SandboxLimits(wall_seconds=120, processes=2)).stdout == b"0\n"
        assert [group.folder.exists() for group in made if group] == [False]

    def test_a_group_of_a_process_that_was_killed_is_removed_by_the_next():
        code = (
            "import os, signal\n"
            "from brain.sandbox.memory import memory_group\n"
            "with memory_group(1 << 30) as group:\n"
            "    print(group.folder, flush=True)\n"
            "    os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        left = Path(done.stdout.strip())
        assert left in groups_left()
        with memory_group(1 << 30) as group:
            assert group is not None
            assert left not in groups_left() and group.folder in groups_left()
            with memory_group(1 << 30):
                assert group.folder in groups_left()  # one that is in use is spared
        assert group.folder not in groups_left()
