"""An arena for the session: preparing brains and a process to fork takes seconds."""

import pytest

from tests.support.faults.fault_campaign import FaultArena
from tests.support.faults.strace_runner import StraceRunner


@pytest.fixture(scope="session")
def arena(tmp_path_factory):
    work = tmp_path_factory.mktemp("arena")
    with StraceRunner(work) as tracer:
        yield FaultArena(work, tracer)
