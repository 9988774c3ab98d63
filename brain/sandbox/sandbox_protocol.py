"""What a sandbox does: run one job under limits, and say how it ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import Literal, Protocol

MIB = 1 << 20

EndedBy = Literal[
    "exit", "signal", "wall_time", "cpu_time", "memory", "output", "requests", "cancelled"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """Limits of one job, all of its processes together unless it says otherwise."""

    wall_seconds: float = 30.0
    cpu_seconds: int = 20
    memory_bytes: int = 512 * MIB
    processes: int = 8
    """Processes and threads."""
    file_bytes: int = 64 * MIB
    """Of one file, and of all of /tmp."""
    open_files: int = 64
    output_bytes: int = 1 * MIB
    """Of standard output, of standard error, and of the result, each."""
    requests: int = 64
    """Requests over the private descriptor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxJob:
    """What runs: Python with `arguments`, and no environment, network or host files.

    `files` are readable by absolute path inside, below /job. `folders` are approved folders of
    the host, readable inside at /folders/NAME. `answer` gets each request, a line of JSON that the
    program writes to descriptor 3, without its newline, and returns the line to write to
    descriptor 4; it runs in the caller's process. A line that starts with `=` ends the requests: it
    is the result. None for no requests.
    """

    arguments: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    answer: Callable[[bytes], bytes] | None = None
    limits: SandboxLimits = SandboxLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxOutcome:
    """How a job ended. `status` is the exit status, or the negative signal that ended it.

    `result` is what the program wrote as result to descriptor 3, None if nothing. Outputs are cut
    at their limit. `wall_ms` and `cpu_ms` are durations.
    """

    ended_by: EndedBy
    status: int
    stdout: bytes
    stderr: bytes
    result: bytes | None
    wall_ms: int
    cpu_ms: int


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

        Setting `cancel` ends it early. Raises `SandboxError` (`no_sandbox`, `sandbox_failed`) if
        the job could not be started.
        """
        ...
