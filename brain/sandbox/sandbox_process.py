"""Start the process of a sandbox, with its pipes.

The kernel ends a sandbox with the *thread* that started it, so one thread that lives as long as
this process starts all of them.
"""

from __future__ import annotations

import fcntl
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

from ..errors import SandboxError

_HIGH_DESCRIPTOR = 256
"""Descriptors from here on collide with none that a job inherits."""


@dataclass(slots=True)
class SandboxProcess:
    """A started process: its id, a descriptor of it, and this end of each pipe."""

    pid: int
    pidfd: int
    stdout: int
    stderr: int
    requests: int
    answers: int
    status: int | None = None
    """Its exit status once it has ended, negative for a signal."""

    def kill(self) -> None:
        """End the process, and with it all in its sandbox."""
        if self.status is None:
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def wait(self) -> int:
        """Wait for the end, and return the status."""
        if self.status is None:
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status

    def close(self) -> None:
        """End the process, wait for it, and close all descriptors."""
        self.kill()
        self.wait()
        for descriptor in (self.pidfd, self.stdout, self.stderr, self.requests, self.answers):
            os.close(descriptor)


def spawn_process(arguments: list[str], stdin: int, inherited: dict[int, int]) -> SandboxProcess:
    """Start a program with no environment, pipes at 1 to 4, and `inherited` descriptors.

    `inherited` maps a number in the new process, from 5 on, to a descriptor of this one.
    Raises `SandboxError` (`sandbox_failed`).
    """
    return _spawner().submit(_spawn, arguments, stdin, inherited).result()


def _spawn(arguments: list[str], stdin: int, inherited: dict[int, int]) -> SandboxProcess:
    (out_read, out_write), (err_read, err_write) = os.pipe(), os.pipe()
    (req_read, req_write), (ans_read, ans_write) = os.pipe(), os.pipe()
    wanted = {0: stdin, 1: out_write, 2: err_write, 3: req_write, 4: ans_read, **inherited}
    raised: dict[int, int] = {}
    try:
        for number, descriptor in wanted.items():
            raised[number] = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH_DESCRIPTOR)
        actions = [(os.POSIX_SPAWN_DUP2, raised[number], number) for number in wanted]
        pid = os.posix_spawn(
            arguments[0], arguments, {}, file_actions=actions, setsigmask=(), setsigdef=_signals()
        )
        pidfd = os.pidfd_open(pid)
    except OSError as error:
        for descriptor in (out_read, err_read, req_read, ans_write):
            os.close(descriptor)
        raise SandboxError(
            f"the sandbox could not be started: {error.strerror}",
            code="sandbox_failed",
            hint="see `brain doctor`",
        ) from error
    finally:
        for descriptor in (out_write, err_write, req_write, ans_read, *raised.values()):
            os.close(descriptor)
    for descriptor in (out_read, err_read, req_read, ans_write):
        os.set_blocking(descriptor, False)
    return SandboxProcess(pid, pidfd, out_read, err_read, req_read, ans_write)


def _signals() -> set[signal.Signals]:
    """Return the signals that Python ignores, which a program expects to have their default."""
    return {signal.SIGPIPE, signal.SIGXFSZ}


def _spawner() -> ThreadPoolExecutor:
    """Return the one thread of this process that starts sandboxes; a forked one has its own."""
    return _spawner_of(os.getpid())


@cache
def _spawner_of(_pid: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="sandbox-spawner")
