"""Limit the memory of all processes of a job together, by a control group of its own.

Each process has a limit of its address space besides; a group also counts the files in /tmp and
what the kernel holds for the job. Groups of a process that was killed are removed by the next one:
the kernel lets go of the lock that a living process has on each of its groups. Files in /tmp are
counted where there is no group as well: each takes memory of the kernel, however small it is, and
bubblewrap can bound the bytes of a tmpfs, and not its files.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from ..errors import SandboxError
from .job import SandboxLimits
from .process import SandboxProcess

_PREFIX = "brain-sandbox-"
_ENTER = 'echo 0 >"$0/cgroup.procs" && exec "$@"'
_OWN = (b"RssAnon:", b"RssShmem:")
"""What is shared after a fork counts for each; reading it takes 20 µs."""
_SHARED_OUT = (b"Pss_Anon:", b"Pss_Shmem:")
_REMOVE_TRIES = 100
_REMOVE_PAUSE = 0.01


class MemoryGroup(NamedTuple):
    """A control group of one job, or the one below which it is made; its version is 1 or 2."""

    folder: Path
    version: int

    def enter_command(self) -> list[str]:
        """Return the start of a command that enters the group and then runs the rest."""
        return ["/bin/sh", "-c", _ENTER, str(self.folder)]

    def is_exceeded(self) -> bool:
        """Tell whether the kernel ended a process of the group for want of memory."""
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        rows = (self.folder / name).read_text().splitlines()
        return any(row.startswith("oom_kill ") and row != "oom_kill 0" for row in rows)


class JobMemory:
    """The memory of one job beyond that of each process."""

    def __init__(
        self, process: SandboxProcess, group: MemoryGroup | None, limits: SandboxLimits, sums: bool
    ) -> None:
        """With `sums`, what its processes use is added up, in place of a group."""
        self._process = process
        self._limits = limits
        self._group = group
        self._sums = sums
        self._folder = -1

    def begin(self) -> None:
        """Open /tmp of the job, which is there by now. Raises `SandboxError` (`no_sandbox`)."""
        self._process.find_first_process()
        try:
            if os.readlink("/proc/self") != str(os.getpid()):
                raise FileNotFoundError(errno.ENOENT, "/proc shows other processes than these")
            self._process.await_bound()
            top = os.open(f"/proc/{self._process.first_pid}/root", os.O_PATH)
            try:
                self._folder = os.open("tmp", os.O_PATH, dir_fd=top)
            finally:
                os.close(top)
        except OSError as error:
            raise SandboxError(
                f"the files of a sandbox cannot be counted: {error.strerror}",
                hint="skills run only where /proc shows this user's own processes",
            ) from error

    def is_exceeded(self) -> bool:
        """Tell whether all processes used too much memory, or there are too many files."""
        if self._group is not None and self._group.is_exceeded():
            return True
        if self._folder < 0:
            return False
        counts = os.fstatvfs(self._folder)
        if counts.f_files - counts.f_ffree > self._limits.files:
            return True
        if not self._sums or self._add_up("status", _OWN) <= self._limits.memory_bytes:
            return False
        return self._add_up("smaps_rollup", _SHARED_OUT) > self._limits.memory_bytes

    def _add_up(self, name: str, rows: tuple[bytes, ...]) -> int:
        left, total = [self._process.first_pid], 0
        while left:
            folder = Path(f"/proc/{left.pop()}")
            with contextlib.suppress(OSError):  # it has ended
                for path in folder.glob("task/*/children"):
                    left += map(int, path.read_text().split())
                for row in (folder / name).read_bytes().splitlines():
                    if row.startswith(rows):
                        total += int(row.split()[1]) << 10
        return total

    def close(self) -> None:
        """Let go of the folder, which the kernel then removes."""
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1


@contextmanager
def memory_group(memory_bytes: int) -> Iterator[MemoryGroup | None]:
    """Make a group with a limit, and remove it at the end, when nothing runs in it any more.

    Gives None where this process cannot make one.
    """
    made = _make_group(memory_bytes)
    try:
        yield made[0] if made else None
    finally:
        if made:
            _remove(made[0].folder)
            os.close(made[1])


def _make_group(memory_bytes: int) -> tuple[MemoryGroup, int] | None:
    parent = find_group_parent()
    if parent is None:
        return None
    try:
        _sweep(parent.folder)
        group = MemoryGroup(parent.folder / f"{_PREFIX}{token_hex(8)}", parent.version)
        lock = _make_locked(group.folder)
        try:
            names = {1: ("limit_in_bytes", "memsw.limit_in_bytes"), 2: ("max", "swap.max")}
            limit, swap = (group.folder / f"memory.{name}" for name in names[group.version])
            limit.write_text(str(memory_bytes))
            if swap.exists():  # with swap: of version 1 in sum, of version 2 on top
                swap.write_text(str(memory_bytes if group.version == 1 else 0))
        except OSError:
            group.folder.rmdir()
            os.close(lock)
            raise
    except OSError:  # such as a folder that claims to be writable in a container
        return None
    return group, lock


@cache
def find_group_parent() -> MemoryGroup | None:
    """Return where this process can make control groups for memory, None if it cannot."""
    try:
        own_groups = Path("/proc/self/cgroup").read_text().splitlines()
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return None
    for row in own_groups:
        _, controllers, path = row.split(":", 2)
        version = 1 if "memory" in controllers.split(",") else 2 if not controllers else 0
        folder = _folder_of(mounts, version, path) if version else None
        if folder is not None and (parent := _parent_for(folder, version)):
            return parent
    return None


def _folder_of(mounts: list[str], version: int, path: str) -> Path | None:
    """Return the folder of a group: "… ROOT MOUNT_POINT … - TYPE SOURCE OPTIONS" are mounts."""
    for row in mounts:
        left, _, right = row.partition(" - ")
        root, mount_point = left.split(" ")[3:5]
        kind, _, options = right.split(" ", 2)
        is_first = kind == "cgroup" and "memory" in options.split(",")
        if (kind == "cgroup2" if version == 2 else is_first) and (path + "/").startswith(
            root.rstrip("/") + "/"
        ):
            return Path(mount_point + path[len(root.rstrip("/")) :])
    return None


def _parent_for(own: Path, version: int) -> MemoryGroup | None:
    """Return where groups can be made for a process that is in the group `own`.

    Groups of version 2 that hold processes hold no groups with a limit, except the topmost.
    """
    folder = own
    if version == 2:
        folder = own.parent if (own / "cgroup.type").exists() else own
        try:
            if "memory" not in (folder / "cgroup.subtree_control").read_text().split():
                return None
        except OSError:
            return None
    procs = folder / "cgroup.procs"
    is_usable = os.access(folder, os.W_OK) and os.access(procs, os.W_OK)
    return MemoryGroup(folder, version) if is_usable else None


def _make_locked(folder: Path) -> int:
    """Make a group that `_sweep` spares while the descriptor returned is open."""
    while True:
        folder.mkdir()
        try:
            lock = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:
            continue  # another process took it for one that was left
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            return lock
        os.close(lock)


def _remove(folder: Path) -> None:
    """Remove a group; the kernel may take a moment to see that it is empty."""
    for _ in range(_REMOVE_TRIES):
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(_REMOVE_PAUSE)
        else:
            return


def _sweep(parent: Path) -> None:
    for folder in parent.glob(_PREFIX + "*"):
        with contextlib.suppress(OSError):
            lock = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                folder.rmdir()
            finally:
                os.close(lock)
