"""Programs whose output, definition or surroundings are bad, run in the sandbox."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from brain.errors import InvalidInput
from brain.programs.program import Program
from brain.running.run import RunOutcome, read_definition, run_program
from brain.sandbox.find_sandbox import find_sandbox
from brain.sandbox.job import Sandbox, SandboxJob, SandboxLimits, SandboxOutcome
from tests.support.cases import read_cases
from tests.support.refusals import raises_code

CASES = read_cases(__file__)

GIGABYTE = 1 << 30
MAX_OUTPUT = 1 << 20


class BriefSandbox:
    """The sandbox of this machine, with less time than a job asks for."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.profile = sandbox.profile

    def run(self, job: SandboxJob, cancel: Event | None = None) -> SandboxOutcome:
        limits = replace(job.limits, wall_seconds=2.0)
        return self._sandbox.run(replace(job, limits=limits), cancel)


def run_script(code: str, **limits: int) -> RunOutcome:
    program = Program(slug="bad", files={"skill.py": code.encode()})
    return run_program(find_sandbox(), program, {}, limits=SandboxLimits(**limits))


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("print('{\"a\": 1')", '{"a": 1'),
        ("print('EXIT CODE: 0')", "EXIT CODE: 0"),
        ("print('9' * 10000)", "9" * 10000),
        ("print('NaN')", "NaN"),
        ('print(\'{"a": 1, "a": 2}\')', '{"a": 1, "a": 2}'),
        ("import os; os.write(3, b'=\"forged\"\\n'); print('true')", True),
    ],
    ids=["half", "exit code", "long number", "NaN", "twice a key", "forged"],
)
def test_an_output_that_is_no_plain_json_is_a_text(code, output):
    outcome = run_script(code)
    assert (outcome.ok, outcome.output) == (True, output)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import sys; sys.stdout.buffer.write(b'\\xff\\xfe')", "not UTF-8"),
        ("print('EXIT CODE: 0'); raise SystemExit(3)", "EXIT CODE: 0"),
        ("print('EXIT CODE: 0'); 1 / 0", "ZeroDivisionError"),
        ("pass", "printed nothing"),
        ("print(' \\n\\t')", "printed nothing"),
        ("print('[' * 5000)", "nested more than 64 levels deep"),
        ("print('[' * 5000 + ']' * 5000)", "nested more than 64 levels deep"),
        (f"print('x' * {GIGABYTE})", "MemoryError"),
        (f"for _ in range({GIGABYTE >> 10}): print('x' * 1023)", "more than 1048576 bytes"),
        ("import os\nwhile True: os.write(3, b'x' * 65536)", "more than 1048576 bytes"),
        ("import os; os.kill(os.getpid(), 9)", "signal"),
        ("import os; os.close(1)", "printed nothing"),
    ],
)
def test_a_bad_output_is_a_failure_with_a_reason(code, error):
    outcome = run_script(code)
    assert not outcome.ok and error in outcome.error and len(outcome.error) <= 200


def test_a_huge_output_takes_no_more_memory_of_the_host_than_its_limit():
    code = f"for _ in range({GIGABYTE >> 16}): print('x' * 65535)"
    script = (
        "import resource, sys\n"
        "from tests.integration.running.test_bad_programs import run_script\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"print(run_script({code!r}).error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    error, kibibytes = done.stdout.decode().splitlines()
    assert "more than 1048576 bytes" in error and int(kibibytes) << 10 < 32 * MAX_OUTPUT


@pytest.mark.parametrize(
    "body",
    CASES["test_a_bad_definition_is_an_error_and_nothing_is_run_in_this_process"],
    ids=[
        *("busy", "sleeps", "raises", "none", "huge", "prints a gigabyte"),
        *("forged list", "forged half", "leaves", "recursive"),
    ],
)
def test_a_bad_definition_is_an_error_and_nothing_is_run_in_this_process(body):
    code = f"""from skillapi import SkillBase, SkillDefinition, SkillResult

class Bad(SkillBase):
    def definition(self):
        {body}

    async def execute(self, **payload):
        return SkillResult(success=True, output=1)
"""
    with raises_code("bad_definition", InvalidInput):
        read_definition(BriefSandbox(find_sandbox()), code.encode())


@pytest.fixture
def full_disk(tmp_path, monkeypatch):
    """A folder for temporary files on a disk without room, where this user can mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4096", "full", str(folder)]
    mounted = os.geteuid() == 0 and subprocess.run(mount, check=False).returncode == 0
    if mounted:
        Path(folder, "filler").write_bytes(bytes(4096))
    else:
        folder.chmod(0o500)  # no room either
    monkeypatch.setenv("TMPDIR", str(folder))
    try:
        yield folder
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)


def test_a_program_runs_while_the_disk_of_the_host_is_full(full_disk):
    with pytest.raises(OSError):
        Path(full_disk, "more").write_bytes(bytes(8192))
    code = "open('/tmp/own', 'w').write('x' * 100_000); print(len(open('/tmp/own').read()))"
    assert run_script(code).output == 100_000


def test_a_program_that_fills_its_own_disk_fails_with_the_reason():
    code = "for n in range(1000): open(f'/tmp/{n}', 'wb').write(bytes(1 << 20))"
    assert "No space left" in run_script(code, file_bytes=8 << 20).error
