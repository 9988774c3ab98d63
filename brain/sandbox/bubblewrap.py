"""The sandbox of Linux: bubblewrap in namespaces of its own, seccomp and limits of resources.

As root, `setpriv` first changes to a user that nothing else has. Inside there are the Python of
`interpreter.py`, read-only, an empty /tmp of bounded size, five devices, and the files of the job;
no network, no other files, no environment, and no /proc, which shows much of the host.
`prlimit` sets what each process may use.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext
from functools import cached_property
from importlib import resources
from threading import Event

from ..errors import SandboxError
from .interpreter import Interpreter, choose_interpreter
from .job_folders import check_folders
from .job_watch import watch_job
from .sandbox_process import FIRST_CONTENT, INFO_DESCRIPTOR, spawn_process
from .sandbox_protocol import SandboxJob, SandboxLimits, SandboxOutcome, SandboxProfile
from .seccomp_filter import build_filter
from .tmp_files import TmpFiles
from .uid_pool import reserved_uid

_START_FILE = "/job/.start.py"
_ARGUMENTS_FILE = "/job/.arguments"
_SYSTEM_FOLDERS = ("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/share/zoneinfo")
_LINKED_FOLDERS = ("bin", "lib", "lib32", "lib64")
_DEVICES = ("null", "zero", "full", "random", "urandom")
_OWN_PROCESSES = 1
"""What bubblewrap itself runs inside, counted with those of the job."""
_STACK_BYTES = 8 << 20
_MIN_FILE_BYTES = 4096
"""bubblewrap refuses a tmpfs of size 0, and the kernel rounds up to a page."""


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
        """What this sandbox is made of. Raises `SandboxError` if one of its programs fails."""
        return SandboxProfile(
            name="bubblewrap",
            versions=(
                ("bubblewrap", _ask_version(self._programs["bwrap"]).removeprefix("bubblewrap ")),
                ("linux", platform.release()),
                ("memory", "address space of each process"),
                ("python", _ask_version(self.interpreter.path).removeprefix("Python ")),
            ),
        )

    def run(self, job: SandboxJob, cancel: Event | None = None) -> SandboxOutcome:
        """Run a job to its end; see `Sandbox.run`."""
        files = _list_files(job)
        check_folders(job.folders, for_other_user=self._as_root)
        with ExitStack() as stack:
            uid = stack.enter_context(reserved_uid() if self._as_root else nullcontext(None))
            options, seccomp, *numbers = range(FIRST_CONTENT, FIRST_CONTENT + 2 + len(files))
            isolation = self._isolate(job, seccomp, dict(zip(files, numbers, strict=True)))
            contents = {
                0: job.stdin,
                options: "\0".join(isolation).encode("utf-8", "surrogateescape"),
                seccomp: build_filter(job.limits.processes > 1),
                **dict(zip(numbers, files.values(), strict=True)),
            }
            arguments = [
                *self._change_user(uid),
                *(self._programs["bwrap"], "--args", str(options), "--"),
                *self._limit(job.limits),
                *(self.interpreter.path, "-I", "-S", "-B", _START_FILE),
            ]
            process = spawn_process(arguments, contents)
            stack.callback(process.close)
            tmp_files = TmpFiles(process)
            stack.callback(tmp_files.close)
            return watch_job(process, job, cancel, tmp_files)

    def _change_user(self, uid: int | None) -> list[str]:
        if uid is None:
            return []
        return [
            *(self._programs["setpriv"], f"--reuid={uid}", f"--regid={uid}", "--clear-groups"),
            *("--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--pdeathsig=KILL"),
            "--",
        ]

    def _isolate(self, job: SandboxJob, seccomp: int, files: Mapping[str, int]) -> list[str]:
        """Return options for a file of them, since all users of the machine see command lines."""
        out = [
            *("--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"),
            *("--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox"),
            *("--seccomp", str(seccomp), "--info-fd", str(INFO_DESCRIPTOR)),
        ]
        for path in (*_SYSTEM_FOLDERS, *self.interpreter.folders):
            if os.path.isdir(path) and not os.path.islink(path):
                out += ["--ro-bind", path, path]
        for name in _LINKED_FOLDERS:
            if os.path.islink(f"/{name}"):
                out += ["--symlink", os.readlink(f"/{name}"), f"/{name}"]
            elif os.path.isdir(f"/{name}"):
                out += ["--ro-bind", f"/{name}", f"/{name}"]
        for name in _DEVICES:
            out += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
        size = max(job.limits.file_bytes, _MIN_FILE_BYTES)
        out += ["--perms", "0700", "--size", str(size), "--tmpfs", "/tmp"]
        out += ["--symlink", "/tmp", "/dev/shm"]
        for path, number in files.items():
            out += ["--file", str(number), path]
        for name, path in job.folders.items():
            out += ["--ro-bind", path, f"/folders/{name}"]
        return [*out, "--remount-ro", "/", "--chdir", "/tmp"]

    def _limit(self, limits: SandboxLimits) -> list[str]:
        tasks = limits.processes if limits.processes > 1 else limits.threads
        return [
            self._programs["prlimit"],
            f"--as={limits.memory_bytes // limits.processes}",
            f"--stack={_STACK_BYTES}",
            f"--nproc={_OWN_PROCESSES + tasks}",
            f"--cpu={limits.cpu_seconds}:{limits.cpu_seconds + 1}",
            f"--fsize={limits.file_bytes}",
            f"--nofile={limits.open_files}",
            *("--core=0", "--memlock=0", "--msgqueue=0", "--rtprio=0", "--nice=0"),
            *("--sigpending=1024", "--"),
        ]


def _list_files(job: SandboxJob) -> dict[str, bytes]:
    for path in job.files:
        if not path.startswith("/job/") or os.path.normpath(path) != path or "\0" in path:
            raise ValueError(f"{path!r} is not an absolute path below /job")
    if any("\0" in argument for argument in job.arguments):
        raise ValueError("an argument has a zero character")
    arguments = "\0".join(job.arguments).encode("utf-8", "surrogateescape")
    return {**job.files, _START_FILE: _start_source(), _ARGUMENTS_FILE: arguments}


def _start_source() -> bytes:
    return resources.files(__package__).joinpath("job_start.py").read_bytes()


def _ask_version(program: str) -> str:
    try:
        done = subprocess.run(
            [program, "--version"],
            check=True,
            capture_output=True,
            text=True,
            timeout=10,
            env={},
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxError(
            f"{program} does not say its version: {error}", hint="install it anew"
        ) from error
    return done.stdout.strip()
