"""Every way in which a job can end, and what its outcome says."""

import signal
from threading import Event

import pytest

from brain.sandbox.job import SandboxLimits


def test_a_program_that_ends_gives_its_status_and_outputs(run):
    outcome = run("import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)")
    assert (outcome.ended_by, outcome.status, outcome.result) == ("exit", 7, None)
    assert (outcome.stdout, outcome.stderr) == (b"out\n", b"err\n")


def test_a_program_reads_its_arguments_and_its_input(run):
    code = "import sys; print(sys.argv[1:], sys.stdin.read())"
    outcome = run(code, "--version", "", "ä\nb", "x" * 200_000, stdin=b"input")
    shown = ["--version", "", "ä\nb", "x" * 200_000]
    assert outcome.stdout.decode() == f"{shown} input\n"


def test_a_program_is_the_main_module_and_nothing_else_is_in_it(run):
    code = "print(__name__, sorted(name for name in dir() if not name.startswith('__')))"
    assert run(code).stdout == b"__main__ []\n"


def test_an_exception_ends_with_status_1_and_its_traceback(run):
    outcome = run("def broken():\n    return [][1]\nbroken()\n")
    assert (outcome.ended_by, outcome.status) == ("exit", 1)
    assert b'File "/job/program.py", line 2, in broken' in outcome.stderr
    assert outcome.stderr.endswith(b"IndexError: list index out of range\n")


def test_code_that_does_not_compile_ends_with_status_1(run):
    outcome = run("if:\n")
    assert (outcome.status, b"SyntaxError" in outcome.stderr) == (1, True)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT])
def test_a_signal_that_ends_a_program_is_named(run, number):
    outcome = run(f"import os; os.kill(os.getpid(), {int(number)})")
    assert (outcome.ended_by, outcome.status) == ("signal", -number)


def test_a_program_that_takes_too_long_is_ended(run):
    outcome = run("import time; time.sleep(600)", limits=SandboxLimits(wall_seconds=1))
    assert outcome.ended_by == "wall_time" and outcome.status < 0


def test_a_program_that_ignores_all_signals_is_ended(run):
    code = (
        "import signal, time\n"
        "for number in signal.valid_signals() - {9, 19}:\n"
        "    signal.signal(number, signal.SIG_IGN)\n"
        "print('ignores', flush=True)\n"
        "time.sleep(600)\n"
    )
    outcome = run(code, limits=SandboxLimits(wall_seconds=2))
    assert (outcome.ended_by, outcome.stdout) == ("wall_time", b"ignores\n")


def test_a_program_that_computes_for_too_long_is_ended(run):
    outcome = run("while True: pass", limits=SandboxLimits(wall_seconds=120, cpu_seconds=1))
    assert (outcome.ended_by, outcome.status) == ("cpu_time", -signal.SIGXCPU)


def test_a_cancelled_job_is_ended_and_keeps_its_outputs(run):
    cancel = Event()

    def answer(request: bytes) -> bytes:
        cancel.set()
        return request

    code = (
        "import os, time\n"
        "print('before', flush=True)\n"
        "os.write(3, b'=1\\n{}\\n')\n"
        "time.sleep(600)\n"
    )
    outcome = run(code, cancel=cancel, answer=answer)
    assert (outcome.ended_by, outcome.stdout, outcome.result) == ("cancelled", b"before\n", b"1")


def test_a_job_that_is_cancelled_before_it_starts_does_not_run(run):
    cancel = Event()
    cancel.set()
    outcome = run("while True: print('x')", cancel=cancel)
    assert outcome.ended_by == "cancelled"


def test_a_limit_holds_while_an_answer_is_awaited(run):
    ended = Event()

    def answer(request: bytes) -> bytes:
        ended.wait(3)  # longer than the job may take; nothing sets it
        return request

    code = "import os\nos.write(3, b'{}\\n')\nos.read(4, 9)\nprint('went on')\n"
    outcome = run(code, answer=answer, limits=SandboxLimits(wall_seconds=1))
    assert (outcome.ended_by, outcome.stdout) == ("wall_time", b"")


def test_an_error_of_the_answer_reaches_the_caller_and_ends_the_job(run):
    def answer(request: bytes) -> bytes:
        raise KeyError(request)

    with pytest.raises(KeyError):
        run("import os, time; os.write(3, b'{}\\n'); time.sleep(600)", answer=answer)


def test_what_a_program_started_ends_with_it(run):
    code = (
        "import os\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        while True:\n"
        "            os.write(1, b'x')\n"
        "    os._exit(0)\n"
        "os.wait()\n"
    )
    limits = SandboxLimits(wall_seconds=120, processes=4, output_bytes=1 << 30)
    assert (run(code, limits=limits).ended_by) == "exit"
