"""An arena for the session: preparing brains and a process to fork takes seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.faults.fault_campaign import FaultArena
from tests.support.faults.strace_runner import StraceRunner


@pytest.fixture(scope="session")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultArena]:
    work = tmp_path_factory.mktemp("arena")
    with StraceRunner(work) as tracer:
        yield FaultArena(work, tracer)
