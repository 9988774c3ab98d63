"""An arena for the session: preparing brains and a process to fork takes seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .campaign import Arena
from .tracer import Tracer


@pytest.fixture(scope="session")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    work = tmp_path_factory.mktemp("arena")
    with Tracer(work) as tracer:
        yield Arena(work, tracer)
