"""What a sandbox does: run one job under limits, and say how it ended."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from threading import Event
from typing import Literal, Protocol

MIB = 1 << 20

EndedBy = Literal[
    "exit", "signal", "wall_time", "cpu_time", "memory", "output", "requests", "cancelled"
]
"""`memory`: of all processes, or of too many files in /tmp. What one process asks for in excess
of the limit, it is refused, which Python raises as `MemoryError`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """Limits of one job, for all of its processes together unless it says otherwise."""

    wall_seconds: float = 30.0
    cpu_seconds: int = 20
    """Of each process."""
    memory_bytes: int = 512 * MIB
    processes: int = 1
    """With 1, a program can start no other. With more, its threads count as processes."""
    threads: int = 16
    """Of a program that can start no other."""
    file_bytes: int = 64 * MIB
    """Of all that is written in sum, which is in memory, and of each file."""
    files: int = 20_000
    """Files, folders and links in /tmp: each takes about 1 KiB of the kernel's memory."""
    open_files: int = 64
    output_bytes: int = 1 * MIB
    """Of standard output, of standard error, of a request, and of all results, each."""
    requests: int = 64


DEFAULT_LIMITS = SandboxLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxJob:
    """What runs: Python with `arguments`, without environment, network or files of the host.

    The first of `arguments` is the path of the program inside. `files` are readable inside at their
    absolute path below /job; modules are imported from /job/modules. `folders` are folders of the
    host, readable inside without keys, FIFOs, sockets, devices, and the places `hidden` of the
    host, such as a brain: those that a person approved at /folders/NAME, and those of this program
    at the absolute path that is their name. A program writes lines of JSON to descriptor 3:
    one that begins with `=` is its result, any other is a request, whose answer it reads as a line
    from descriptor 4. `answer` makes it, in the process and thread of the caller, from the
    request without its newline; None refuses all. The job can end before it has an answer, and
    `run` returns after both.

    `is_machine` shows it what shells and compilers need: more of the host's programs, some of its
    /etc, and a / in which it can write everywhere. With `loopback` it has a network of its own,
    in which there is nothing but itself.
    """

    arguments: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    stdin: bytes = b""
    answer: Callable[[bytes], bytes] | None = None
    limits: SandboxLimits = DEFAULT_LIMITS
    is_machine: bool = False
    loopback: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxOutcome:
    """How a job ended. `status` is the exit status, or the negative signal that ended it.

    As in a shell, an exit status above 128 stands for a signal.

    `result` is the last result that the program wrote, without the `=`; None if it wrote none.
    Outputs are cut at their limit. `wall_ms` is the time it took, and `memory` says what limited
    the memory of the job, as it was at this run.
    """

    ended_by: EndedBy
    status: int
    stdout: bytes
    stderr: bytes
    result: bytes | None
    wall_ms: int
    memory: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxProfile:
    """The sandbox of this machine: its name, and name and version of each program it is made of."""

    name: str
    versions: tuple[tuple[str, str], ...]


class Sandbox(Protocol):
    """Runs jobs, each apart from the host and from the others; safe to share among threads."""

    @property
    def profile(self) -> SandboxProfile:
        """What this sandbox is made of."""
        ...

    def run(self, job: SandboxJob, cancel: Event | None = None) -> SandboxOutcome:
        """Run a job to its end. Nothing of it is left: no process, mount, file or user.

        Setting `cancel` ends it within a tenth of a second. Raises `SandboxError`: `no_sandbox` if
        this machine does not let it isolate a job, `bad_folder` for one of its folders,
        `sandbox_failed` if the job could not be started otherwise.
        """
        ...


START_FILE = "/job/.start.py"
_ARGUMENTS_FILE = "/job/.arguments"


def list_job_files(job: SandboxJob, arguments: tuple[str, ...]) -> dict[str, bytes]:
    """Return the content of each file by its path inside.

    Raises `ValueError` for a path or an argument that cannot be.
    """
    for path in job.files:
        if not path.startswith("/job/") or os.path.normpath(path) != path or "\0" in path:
            raise ValueError(f"{path!r} is not an absolute path below /job")
    if any("\0" in argument for argument in arguments):
        raise ValueError("an argument has a zero character")
    content = "\0".join(arguments).encode("utf-8", "surrogateescape")
    start = resources.files(__package__).joinpath("inside/start.py").read_bytes()
    return {**job.files, START_FILE: start, _ARGUMENTS_FILE: content}
