"""The sandbox of macOS: `sandbox-exec` with a profile that forbids all but what a job needs.

It is untested, and its profile says so. It has weaker limits than that of Linux, since macOS has
no namespaces: the memory of a job is not limited, and a job outlives a program that is killed
until its own limits end it. The files of a job are in a temporary folder instead of /job, and
approved folders at their own paths; arguments that begin with /job/ are changed accordingly.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Event, Thread

from ..errors import SandboxError
from .hidden_paths import Hidden, check_folders
from .job import SandboxJob, SandboxLimits, SandboxOutcome, SandboxProfile, list_job_files
from .process import SandboxProcess, start_program
from .watch import JobWatch

_READABLE = ("/usr/lib", "/System/Library", "/usr/share/zoneinfo", "/private/var/db/timezone")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


class SandboxExecSandbox:
    """Runs jobs with sandbox-exec, as the user that this process belongs to."""

    def __init__(self, program: str) -> None:
        """`program` is the path of sandbox-exec."""
        self._program = program

    @cached_property
    def profile(self) -> SandboxProfile:
        """What this sandbox is made of."""
        return SandboxProfile(
            name="sandbox-exec, untested",
            versions=(
                ("macos", os.uname().release),
                ("python", ".".join(map(str, sys.version_info[:3]))),
            ),
        )

    def run(self, job: SandboxJob, cancel: Event | None = None) -> SandboxOutcome:
        """Run a job to its end; see `Sandbox.run`."""
        if job.is_machine:
            raise SandboxError(
                "sandbox-exec cannot show a job a machine of its own",
                hint="run tasks that need a shell on Linux",
            )
        folders = list(check_folders(job.folders, job.hidden, for_other_user=False))
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            root = os.path.realpath(folder)
            arguments = tuple(
                root + one if one.startswith("/job/") else one for one in job.arguments
            )
            for path, content in list_job_files(job, arguments).items():
                target = Path(root + path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            Path(root, "tmp").mkdir()
            command = [
                *("/bin/sh", "-c", _limit(job.limits, f"{root}/tmp"), "sh"),
                *(self._program, "-p", _profile_text(root, job, folders)),
                *(os.path.realpath(sys.executable), "-I", "-S", "-B", f"{root}/job/.start.py"),
            ]
            process = stack.enter_context(_started(command, job.stdin))
            return replace(JobWatch(process, job, cancel, None).watch(), memory="not limited")


def _limit(limits: SandboxLimits, folder: str) -> str:
    blocks = max(1, limits.file_bytes // 512)
    return (
        f"cd {shlex.quote(folder)} && ulimit -c 0 && ulimit -t {limits.cpu_seconds}"
        f' && ulimit -f {blocks} && ulimit -n {limits.open_files} && exec "$@"'
    )


def _profile_text(
    root: str, job: SandboxJob, folders: Sequence[tuple[str, str, Sequence[Hidden]]]
) -> str:
    prefix = os.path.realpath(sys.base_prefix)
    readable = (*_READABLE, prefix, f"{root}/job", f"{root}/tmp", *(path for _, path, _ in folders))
    hidden = [f"{path}/{one.path}" for _, path, found in folders for one in found]
    rows = [
        "(version 1)",
        "(deny default)",
        "(allow sysctl-read)",
        f"(allow process-exec (subpath {_quote(prefix)}))",
        *(f"(allow file-read* (subpath {_quote(path)}))" for path in readable),
        *(f"(allow file-read* (literal {_quote(path)}))" for path in _DEVICES),
        *(f"(deny file-read* (subpath {_quote(path)}))" for path in hidden),  # the last rule wins
        '(allow file-write* (literal "/dev/null"))',
        f"(allow file-write* (subpath {_quote(root + '/tmp')}))",
        "(allow file-read-metadata)",
    ]
    if job.limits.processes > 1:
        rows += ["(allow process-fork)", "(allow signal (target same-sandbox))"]
    return "\n".join(rows)


def _quote(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass(slots=True, kw_only=True)
class _Process(SandboxProcess):
    waiter: Thread
    ended_with: list[int]

    def kill(self) -> None:
        """End the process, and those that it started and that are in its session still."""
        if not self.ended_with:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Wait for the end, and return the status."""
        self.waiter.join()
        return self.ended_with[0]


@contextmanager
def _started(command: list[str], stdin: bytes) -> Iterator[_Process]:
    with ExitStack() as stack, ExitStack() as theirs:
        ends: dict[int, tuple[int, int]] = {}
        for number in (1, 2, 3, 4):
            ours, other = os.pipe() if number != 4 else os.pipe()[::-1]
            stack.callback(os.close, ours)
            theirs.callback(os.close, other)
            os.set_blocking(ours, False)
            ends[number] = ours, other
        file = theirs.enter_context(tempfile.TemporaryFile())
        file.write(stdin)
        file.seek(0)
        try:
            pid = start_program(command, {0: file.fileno(), **{n: e[1] for n, e in ends.items()}})
        except OSError as error:
            raise SandboxError(
                f"the sandbox could not be started: {error.strerror}", code="sandbox_failed"
            ) from error
        theirs.close()
        ended, end = os.pipe()
        stack.callback(os.close, ended)
        status: list[int] = []

        def wait() -> None:
            status.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            os.close(end)

        waiter = Thread(target=wait, name="sandbox-waiter", daemon=True)
        waiter.start()
        process = _Process(
            pid=pid,
            ended=ended,
            stdout=ends[1][0],
            stderr=ends[2][0],
            requests=ends[3][0],
            answers=ends[4][0],
            waiter=waiter,
            ended_with=status,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()
