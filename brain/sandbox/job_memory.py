"""Count the memory of a job that no limit of a process counts.

That is what its processes use together, if it has a control group, and files in /tmp: each takes
memory of the kernel, however small it is. bubblewrap can bound the bytes of a tmpfs, and not
its files.
"""

from __future__ import annotations

import errno
import os

from ..errors import SandboxError
from .memory_cgroup import MemoryGroup
from .sandbox_process import SandboxProcess

MAX_TMP_FILES = 20_000
"""Files, folders and links, together some 20 MB of the kernel's memory."""


class JobMemory:
    """The memory of one job beyond that of each process."""

    def __init__(self, process: SandboxProcess, group: MemoryGroup | None) -> None:
        self._process = process
        self._group = group
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
        """Tell whether the group had too little memory, or there are too many files."""
        if self._group is not None and self._group.is_exceeded():
            return True
        if self._folder < 0:
            return False
        counts = os.fstatvfs(self._folder)
        return counts.f_files - counts.f_ffree > MAX_TMP_FILES

    def close(self) -> None:
        """Let go of the folder, which the kernel then removes."""
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1
