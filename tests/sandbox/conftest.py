"""The sandbox of this machine, and how tests run code in it."""

from collections.abc import Callable
from typing import Any

import pytest

from brain.sandbox.find_sandbox import find_sandbox
from brain.sandbox.job import SandboxJob, SandboxLimits, SandboxOutcome

Run = Callable[..., SandboxOutcome]
PATIENT = SandboxLimits(wall_seconds=120)
"""No test depends on how long a start takes."""


@pytest.fixture(scope="session")
def sandbox():
    return find_sandbox()


@pytest.fixture
def run(sandbox):
    """Run code as the program of a job, whose fields may be given."""

    def run_code(
        code: str, *arguments: str, cancel: Any = None, files: Any = None, **fields: Any
    ) -> SandboxOutcome:
        job = SandboxJob(
            arguments=("/job/program.py", *arguments),
            files={"/job/program.py": code.encode(), **(files or {})},
            **{"limits": PATIENT, **fields},
        )
        return sandbox.run(job, cancel)

    return run_code
