"""The sandbox of macOS, with a program in place of its own that isolates nothing."""

import os
import sys

import pytest

from brain.sandbox import find_sandbox
from brain.sandbox.job import SandboxJob, SandboxLimits
from brain.sandbox.sandbox_exec import SandboxExecSandbox

FAKE = '#!/bin/sh\ncat <<EOF >"$(dirname "$0")/profile"\n$2\nEOF\nshift 2\nexec "$@"\n'
PATIENT = SandboxLimits(wall_seconds=120)


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "sandbox-exec"
    path.write_text(FAKE)
    path.chmod(0o755)
    return path


def job(code: str, **fields: object) -> SandboxJob:
    files = {"/job/program.py": code.encode(), "/job/modules/helper.py": b"value = 5\n"}
    return SandboxJob(
        arguments=("/job/program.py", "word"), files=files, **{"limits": PATIENT, **fields}
    )


def test_a_job_reads_its_input_asks_and_gives_a_result(program):
    code = (
        "import helper, os, sys\n"
        "print(sys.argv[1], helper.value, sys.stdin.read(), dict(os.environ).get('HOME'))\n"
        "os.write(3, b'ask\\n')\n"
        "os.write(3, b'=' + os.read(4, 99))\n"
        "sys.exit(3)\n"
    )
    before = len(os.listdir("/dev/fd"))
    outcome = SandboxExecSandbox(str(program)).run(job(code, stdin=b"in", answer=bytes.upper))
    assert (outcome.ended_by, outcome.status, outcome.result) == ("exit", 3, b"ASK")
    assert outcome.stdout == b"word 5 in None\n"
    assert len(os.listdir("/dev/fd")) == before


def test_a_job_ends_at_its_limits(program):
    sandbox = SandboxExecSandbox(str(program))
    limits = SandboxLimits(wall_seconds=1)
    assert sandbox.run(job("import time; time.sleep(600)", limits=limits)).ended_by == "wall_time"
    limits = SandboxLimits(wall_seconds=120, cpu_seconds=1)
    assert sandbox.run(job("while True: pass", limits=limits)).ended_by in ("cpu_time", "signal")


def test_the_profile_denies_all_but_what_a_job_needs(program):
    folders = {"data": "/usr/share"}
    SandboxExecSandbox(str(program)).run(job("", folders=folders))
    rows = program.with_name("profile").read_text().splitlines()
    assert rows[:2] == ["(version 1)", "(deny default)"]
    assert '(allow file-read* (subpath "/usr/share"))' in rows
    assert not [row for row in rows if "network" in row or "fork" in row or "mach" in row]
    writable = [row for row in rows if "file-write" in row]
    assert len(writable) == 2 and '"/dev/null"' in writable[0] and writable[1].endswith('/tmp"))')


def test_it_says_that_it_is_untested_and_what_it_does_not_limit(program, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(find_sandbox, "_SYSTEM_PATH", str(program.parent))
    profile = find_sandbox.find_sandbox().profile
    assert "untested" in profile.name
