"""The sandbox of this machine, for tests that run programs in it."""

import pytest

from brain.sandbox.find_sandbox import find_sandbox


@pytest.fixture(scope="session")
def sandbox():
    return find_sandbox()
