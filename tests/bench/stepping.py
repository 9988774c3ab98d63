"""A step of a session of the sandbox, against the same command as a plain process."""

import subprocess
import time
from collections.abc import Callable

from brain.errors import SandboxError
from brain.sandbox.find_sandbox import find_sandbox
from brain.sandbox.session import SandboxSession
from tests.bench.timing import Sample, Series, interleave

SESSION_STEP = "session-step"
_STEPS = 20
"""Steps of one sample, which is what one of them takes."""
_COMMAND = ("/usr/bin/true",)


def session_step(repeats: int) -> dict[str, Series]:
    """`true` in an open session, as a process, and what opening and closing a session takes."""
    try:
        sandbox = find_sandbox()
        with SandboxSession(sandbox) as session:
            return interleave(
                repeats,
                {
                    "brain": lambda _: _each(lambda: session.run(*_COMMAND)),
                    "subprocess": lambda _: _each(lambda: subprocess.run(_COMMAND, check=True)),
                    "brain opens a session": lambda _: _each(
                        lambda: SandboxSession(sandbox).close(), 1
                    ),
                },
            )
    except SandboxError as error:
        return {"brain": Series([], f"no sandbox: {error.code}")}


def _each(act: Callable[[], object], times: int = _STEPS) -> Sample:
    start, busy = time.perf_counter(), time.process_time()
    for _ in range(times):
        act()
    wall = time.perf_counter() - start
    return Sample(wall / times, (time.process_time() - busy) / times)
