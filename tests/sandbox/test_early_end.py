"""A sandbox that is ended while it starts leaves no process."""

from __future__ import annotations

import pytest

from brain.sandbox import job_watch
from brain.sandbox.find_sandbox import find_sandbox
from brain.sandbox.sandbox_protocol import SandboxJob, SandboxLimits
from tests.sandbox.process_search import odd_memory_limit, processes_with_memory_limit

MEMORY_BYTES = odd_memory_limit(64)


def test_a_sandbox_that_is_ended_while_it_starts_leaves_no_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sandbox = find_sandbox()
    for number in range(40):
        monkeypatch.setattr(job_watch, "POLL_SECONDS", number / 4000)
        limits = SandboxLimits(wall_seconds=0.0, memory_bytes=MEMORY_BYTES)
        files = {"/job/main.py": b"while True: pass"}
        job = SandboxJob(arguments=("/job/main.py",), files=files, limits=limits)
        assert sandbox.run(job).ended_by == "wall_time"
        assert processes_with_memory_limit(MEMORY_BYTES) == []
