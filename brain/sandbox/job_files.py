"""The files of a job, with those that start it."""

from __future__ import annotations

import os
from importlib import resources

from .sandbox_protocol import SandboxJob

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
    return {**job.files, START_FILE: _start_source(), _ARGUMENTS_FILE: content}


def _start_source() -> bytes:
    return resources.files(__package__).joinpath("job_start.py").read_bytes()
