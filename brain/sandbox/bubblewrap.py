"""The sandbox of Linux: bubblewrap in namespaces of its own, seccomp and limits of resources.

As root, `setpriv` first changes to a user that nothing else has. Inside there are the Python of
`interpreter.py`, read-only, an empty /tmp of bounded size, and the files of the job; no network,
no other files, no environment, no process but its own. `prlimit` sets what each process may use.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cached_property
from importlib import resources
from threading import Event

from .interpreter import Interpreter, choose_interpreter
from .job_watch import watch_job
from .sandbox_process import SandboxProcess, spawn_process
from .sandbox_protocol import SandboxJob, SandboxLimits, SandboxOutcome, SandboxProfile
from .seccomp_filter import build_filter
from .uid_pool import reserved_uid

_START_FILE = "/job/.start.py"
_SYSTEM_FOLDERS = ("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/share/zoneinfo")
_LINKED_FOLDERS = ("bin", "lib", "lib32", "lib64")
_OWN_PROCESSES = 2
"""What bubblewrap itself runs inside, counted with those of the job."""
_STACK_BYTES = 8 << 20


class BubblewrapSandbox:
    """Runs jobs with bubblewrap, as root each under a user id of its own."""

    def __init__(self, programs: dict[str, str]) -> None:
        """`programs` are the paths of bwrap, prlimit and, as root, setpriv."""
        self._programs = programs
        self._as_root = os.geteuid() == 0

    @cached_property
    def interpreter(self) -> Interpreter:
        """The Python that runs inside."""
        return choose_interpreter(for_other_user=self._as_root)

    @cached_property
    def profile(self) -> SandboxProfile:
        """What this sandbox is made of."""
        return SandboxProfile(
            name="bubblewrap",
            versions=(
                ("bubblewrap", _ask_version(self._programs["bwrap"]).removeprefix("bubblewrap ")),
                ("linux", platform.release()),
                ("python", _ask_version(self.interpreter.path).removeprefix("Python ")),
            ),
        )

    def run(self, job: SandboxJob, cancel: Event | None = None) -> SandboxOutcome:
        """Run a job to its end; see `Sandbox.run`."""
        with ExitStack() as stack:
            uid = stack.enter_context(reserved_uid() if self._as_root else nullcontext(None))
            job_files = {**job.files, _START_FILE: _start_source()}
            descriptors = [
                stack.enter_context(_memory_file(content))
                for content in (
                    job.stdin,
                    build_filter(job.limits.processes > 1),
                    *job_files.values(),
                )
            ]
            stdin, seccomp, *contents = descriptors
            numbers = range(5, 5 + 1 + len(contents))
            arguments = [
                *self._change_user(uid),
                *self._isolate(job, numbers[0], dict(zip(job_files, numbers[1:], strict=True))),
                *self._limit(job.limits),
                *(self.interpreter.path, "-I", "-S", "-B", _START_FILE, *job.arguments),
            ]
            inherited = dict(zip(numbers, (seccomp, *contents), strict=True))
            process = stack.enter_context(_started(arguments, stdin, inherited))
            return watch_job(process, job, cancel)

    def _change_user(self, uid: int | None) -> list[str]:
        if uid is None:
            return []
        return [
            *(self._programs["setpriv"], f"--reuid={uid}", f"--regid={uid}", "--clear-groups"),
            *("--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--pdeathsig=KILL"),
            "--",
        ]

    def _isolate(self, job: SandboxJob, seccomp: int, contents: dict[str, int]) -> list[str]:
        limits = job.limits
        out = [
            *(self._programs["bwrap"], "--unshare-all", "--unshare-user", "--disable-userns"),
            *("--cap-drop", "ALL", "--die-with-parent", "--new-session", "--clearenv"),
            *("--seccomp", str(seccomp), "--hostname", "sandbox"),
        ]
        folder = self.interpreter.folder
        for path in (*_SYSTEM_FOLDERS, *([folder] if folder else [])):
            if os.path.isdir(path) and not os.path.islink(path):
                out += ["--ro-bind", path, path]
        for name in _LINKED_FOLDERS:
            if os.path.islink(f"/{name}"):
                out += ["--symlink", os.readlink(f"/{name}"), f"/{name}"]
            elif os.path.isdir(f"/{name}"):
                out += ["--ro-bind", f"/{name}", f"/{name}"]
        out += ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
        out += ["--size", str(limits.file_bytes), "--tmpfs", "/tmp"]
        for path, number in contents.items():
            out += ["--file", str(number), path]
        for name, path in job.folders.items():
            out += ["--ro-bind", path, f"/folders/{name}"]
        return [*out, "--remount-ro", "/", "--chdir", "/tmp", "--"]

    def _limit(self, limits: SandboxLimits) -> list[str]:
        return [
            self._programs["prlimit"],
            f"--as={limits.memory_bytes // limits.processes}",
            f"--stack={_STACK_BYTES}",
            f"--nproc={_OWN_PROCESSES + limits.processes - 1 + limits.threads}",
            f"--cpu={limits.cpu_seconds}:{limits.cpu_seconds + 1}",
            f"--fsize={limits.file_bytes}",
            f"--nofile={limits.open_files}",
            *("--core=0", "--memlock=0", "--msgqueue=0", "--rtprio=0", "--nice=0", "--"),
        ]


@contextmanager
def _memory_file(content: bytes) -> Iterator[int]:
    """Return a descriptor at the start of a file in memory."""
    descriptor = os.memfd_create("job", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _started(
    arguments: list[str], stdin: int, inherited: dict[int, int]
) -> Iterator[SandboxProcess]:
    process = spawn_process(arguments, stdin, inherited)
    try:
        yield process
    finally:
        process.close()


def _start_source() -> bytes:
    return resources.files(__package__).joinpath("job_start.py").read_bytes()


def _ask_version(program: str) -> str:
    command = [program, "--version"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=10)
    return done.stdout.strip()
