"""Start the process of a sandbox, with its pipes, and end it with all that it started.

The kernel ends a sandbox with the *thread* that started it, so one thread that lives as long as
this process starts all of them.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import signal
import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

from ..errors import SandboxError


def start_program(arguments: list[str], descriptors: Mapping[int, int]) -> int:
    """Start a program, and return its process id.

    `descriptors` maps each number that the program gets to a descriptor of this process. It has
    a session of its own, so that Ctrl-C spares it, and no signal is ignored or blocked.
    """
    with ExitStack() as stack:
        above = max(descriptors) + 1
        raised: list[tuple[int, int]] = []
        for number, descriptor in descriptors.items():
            raised.append((fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, above), number))
            stack.callback(os.close, raised[-1][0])
        return os.posix_spawn(
            arguments[0],
            arguments,
            {},
            file_actions=[(os.POSIX_SPAWN_DUP2, *pair) for pair in raised],
            setsid=True,
            setsigmask=(),
            setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
        )


FIRST_CONTENT = 5
"""The first descriptor for contents of files; the program gets 0 to 4."""
_OUTPUTS = (1, 2, 3)
_ANSWERS = 4
_END_MS = 10_000
"""What the kernel may take to end the processes inside, once they are killed."""
_START_SECONDS = 2.0
"""What bubblewrap may take to start its child before it is killed all the same."""
_BOUND_SECONDS = 10.0
_FILTERED = b"\nSeccomp:\t2\n"
_LOOK_MS = 2
_SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)
_SCARCE_HINT = "close other programs, or allow this one more files and processes (`ulimit`)"


@dataclass(slots=True, kw_only=True)
class SandboxProcess:
    """A started process: its id, a descriptor of it, and this end of each pipe."""

    pid: int
    ended: int
    """A descriptor of the process, readable once it has ended."""
    stdout: int
    stderr: int
    requests: int
    answers: int
    first_pid: int = 0
    """The id, on the host, of the first process inside, 0 if it is not known."""
    first_pidfd: int = -1
    status: int | None = None
    """Its exit status once it has ended, negative for a signal."""

    def find_first_process(self) -> None:
        """Open the first process inside, if bubblewrap has started it: the others end with it.

        bubblewrap would also say its id on a descriptor (--info-fd), but then it does more between
        starting its child and freeing it, and a child whose parent ends meanwhile waits for ever.
        """
        if self.first_pid:
            return
        with contextlib.suppress(OSError):
            children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
            if children:
                self.first_pidfd = os.pidfd_open(int(children[0]))
                self.first_pid = int(children[0])

    def kill(self) -> None:
        """End the process, and with it all in its sandbox."""
        if self.status is None:
            self._await_first_process()
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.ended, signal.SIGKILL)

    def _await_first_process(self) -> None:
        """Wait until bubblewrap has started its child, which does not always end with it."""
        ended = select.poll()
        ended.register(self.ended, select.POLLIN)
        deadline = time.monotonic() + _START_SECONDS
        self.find_first_process()
        while not self.first_pid and not ended.poll(_LOOK_MS) and time.monotonic() < deadline:
            self.find_first_process()

    def await_bound(self) -> None:
        """Wait until the first process inside ends with bubblewrap, so that no job outlives it.

        It asks the kernel for that late, beside the start of the job, and right after puts the
        filter of system calls on itself, which /proc shows. Raises `OSError` without /proc.
        """
        ended = select.poll()
        ended.register(self.ended, select.POLLIN)
        status = Path(f"/proc/{self.first_pid}/status")
        deadline = time.monotonic() + _BOUND_SECONDS
        while _FILTERED not in status.read_bytes() and not ended.poll(_LOOK_MS):
            if time.monotonic() > deadline:
                raise TimeoutError(errno.ETIMEDOUT, "its first process is not ready")

    def wait(self) -> int:
        """Wait until nothing runs inside, and return the status.

        Raises `SandboxError` (`sandbox_failed`) if a process inside does not end though it was
        killed, or if another part of this program waited for the sandbox in our place.
        """
        if self.status is None:
            try:
                self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            except ChildProcessError as error:
                self.status = -signal.SIGKILL
                raise SandboxError(
                    "how the sandbox ended is not known: this program waits for all its children",
                    code="sandbox_failed",
                    hint="do not ignore SIGCHLD, and wait only for processes that you started",
                ) from error
        self.find_first_process()
        if self.first_pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.first_pidfd, signal.SIGKILL)
            ended = select.poll()
            ended.register(self.first_pidfd, select.POLLIN)
            if not ended.poll(_END_MS):
                raise SandboxError(
                    f"process {self.first_pid} of a sandbox was killed and does not end",
                    code="sandbox_failed",
                    hint="it may wait for a disk or a network folder that does not answer",
                )
            with contextlib.suppress(ChildProcessError):  # ours if this is process 1 of a container
                os.waitid(os.P_PIDFD, self.first_pidfd, os.WEXITED | os.WNOHANG)
        return self.status

    def close(self) -> None:
        """End the process, wait for it, and close all descriptors."""
        try:
            self.kill()
            self.wait()
        finally:
            for descriptor in (
                *(self.ended, self.first_pidfd),
                *(self.stdout, self.stderr, self.requests, self.answers),
            ):
                if descriptor >= 0:
                    os.close(descriptor)


def spawn_process(arguments: list[str], contents: Mapping[int, bytes]) -> SandboxProcess:
    """Start a program with no environment, in a session of its own, so that Ctrl-C spares it.

    It has pipes at 1 to 4, and at each number of `contents` (0, and 5 or more) a file in memory,
    which it can read only. Raises `SandboxError` (`sandbox_failed`).
    """
    started: Future[SandboxProcess] = Future()
    _requests_of(os.getpid()).put((started, arguments, contents))
    try:
        return started.result()
    except BaseException:
        started.add_done_callback(_discard)  # this wait was interrupted, the start was not
        raise


def _discard(started: Future[SandboxProcess]) -> None:
    if started.exception() is None:
        started.result().close()


_Request = tuple[Future[SandboxProcess], list[str], Mapping[int, bytes]]


@cache
def _requests_of(_pid: int) -> SimpleQueue[_Request]:
    """Return the queue of the thread that starts sandboxes; a forked process has its own."""
    requests: SimpleQueue[_Request] = SimpleQueue()
    Thread(target=_start_all, args=(requests,), name="sandbox-spawner", daemon=True).start()
    return requests


def _start_all(requests: SimpleQueue[_Request]) -> None:
    while True:
        started, arguments, contents = requests.get()
        try:
            started.set_result(_spawn(arguments, contents))
        except OSError as error:
            failure = SandboxError(
                f"the sandbox could not be started: {error.strerror}",
                code="sandbox_failed",
                hint=_SCARCE_HINT if error.errno in _SCARCE else "see `brain doctor`",
            )
            failure.__cause__ = error
            started.set_exception(failure)
        except BaseException as error:  # noqa: BLE001  all sandboxes end with this thread
            started.set_exception(error)


def _spawn(arguments: list[str], contents: Mapping[int, bytes]) -> SandboxProcess:
    with ExitStack() as ours, ExitStack() as theirs:
        wanted: dict[int, int] = {}
        own_ends: dict[int, int] = {}
        for number in (*_OUTPUTS, _ANSWERS):
            read_end, write_end = os.pipe()
            own_end, their_end = (
                (write_end, read_end) if number == _ANSWERS else (read_end, write_end)
            )
            ours.callback(os.close, own_end)
            theirs.callback(os.close, their_end)
            os.set_blocking(own_end, False)
            own_ends[number], wanted[number] = own_end, their_end
        for number, content in contents.items():
            wanted[number] = _sealed_file(content)
            theirs.callback(os.close, wanted[number])
        pid = start_program(arguments, wanted)
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        ours.pop_all()
    return SandboxProcess(
        pid=pid,
        ended=pidfd,
        stdout=own_ends[1],
        stderr=own_ends[2],
        requests=own_ends[3],
        answers=own_ends[_ANSWERS],
    )


def _sealed_file(content: bytes) -> int:
    """Return a descriptor at the start of a file in memory that nothing can change any more."""
    descriptor = os.memfd_create("job", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
