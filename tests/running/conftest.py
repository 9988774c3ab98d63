"""The sandbox of this machine, for tests that run programs in it."""

import pytest

from brain.errors import SandboxError
from brain.sandbox.find_sandbox import find_sandbox
from brain.sandbox.sandbox_protocol import SandboxJob


@pytest.fixture(scope="session")
def sandbox():
    try:
        found = find_sandbox()
        found.run(SandboxJob(arguments=("/job/skill.py",), files={"/job/skill.py": b""}))
    except SandboxError as error:
        pytest.skip(f"no sandbox on this machine: {error.message}")
    return found
