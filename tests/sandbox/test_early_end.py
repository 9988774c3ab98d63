"""A sandbox that is ended while it starts leaves no process."""

import os
import subprocess

import pytest

from brain.sandbox import process as process_module
from brain.sandbox import watch
from brain.sandbox.find_sandbox import find_sandbox
from brain.sandbox.job import SandboxJob, SandboxLimits
from brain.sandbox.process import SandboxProcess
from tests.sandbox.process_search import odd_memory_limit, processes_with_memory_limit

MEMORY_BYTES = odd_memory_limit(64)


def test_a_sandbox_that_is_ended_while_it_starts_leaves_no_process(monkeypatch):
    sandbox = find_sandbox()
    for number in range(40):
        monkeypatch.setattr(watch, "POLL_SECONDS", number / 4000)
        limits = SandboxLimits(wall_seconds=0.0, memory_bytes=MEMORY_BYTES)
        files = {"/job/main.py": b"while True: pass"}
        job = SandboxJob(arguments=("/job/main.py",), files=files, limits=limits)
        assert sandbox.run(job).ended_by == "wall_time"
        assert processes_with_memory_limit(MEMORY_BYTES) == []


def test_a_job_does_not_begin_before_it_ends_with_the_sandbox():
    """The first process inside asks for its end late: this one, without a filter, never did."""
    with subprocess.Popen(["/usr/bin/sleep", "60"]) as unbound:
        ended = subprocess.Popen(["/usr/bin/true"])
        process = SandboxProcess(
            pid=ended.pid,
            ended=os.pidfd_open(ended.pid),
            stdout=-1,
            stderr=-1,
            requests=-1,
            answers=-1,
            first_pid=unbound.pid,
        )
        ended.wait()
        process.await_bound()  # returns since the sandbox has ended
        os.close(process.ended)
        process.ended = os.pidfd_open(unbound.pid)
        with pytest.MonkeyPatch.context() as patch, pytest.raises(TimeoutError):
            patch.setattr(process_module, "_BOUND_SECONDS", 0.0)
            process.await_bound()
        os.close(process.ended)
        unbound.kill()
