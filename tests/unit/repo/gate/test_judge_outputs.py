"""Outputs are judged apart from each other, within bounded time."""

from __future__ import annotations

import json
from collections.abc import Callable
from threading import Event

from brain.gating.case_types import Case, Expectation
from brain.repo.gate.judge_outputs import CHECK_SECONDS, MAX_SILENT_SECONDS, OutputJudge
from brain.sandbox.sandbox_protocol import SandboxJob, SandboxOutcome, SandboxProfile

CHECK = "def check(input, output): ...\n"
HANGS, CRASHES, REFUSED, RIGHT = b"hangs", b"crashes", b"refused", b"right"


class ScriptedSandbox:
    """A sandbox whose check does what the outputs of a job say; `clock` is what time it is."""

    profile = SandboxProfile(name="scripted", versions=())

    def __init__(self) -> None:
        self.clock = 0.0
        self.jobs: list[list[str]] = []

    def run(self, job: SandboxJob, cancel: Event | None = None) -> SandboxOutcome:
        outputs = [output for _, output in json.loads(job.stdin)]
        self.jobs.append(outputs)
        if HANGS.decode() in outputs:
            self.clock += job.limits.wall_seconds
            return self._end("wall_time", None)
        if CRASHES.decode() in outputs:
            return self._end("exit", None)
        reasons = ["wrong" if output == REFUSED.decode() else None for output in outputs]
        return self._end("exit", json.dumps(reasons).encode())

    def _end(self, ended_by: str, result: bytes | None) -> SandboxOutcome:
        return SandboxOutcome(
            ended_by=ended_by,  # type: ignore[arg-type]
            status=0,
            stdout=b"",
            stderr=b"",
            result=result,
            wall_ms=0,
        )

    def time_left(self, seconds: float) -> Callable[[], float]:
        return lambda: seconds - self.clock


def make_case(name: str = "one", expect: Expectation | None = None) -> Case:
    return Case(
        skill="greet",
        name=name,
        path=f"skills/greet/cases/{name}.yaml",
        blob=name.encode(),
        input="Greet",
        expect=expect or Expectation(check=CHECK),
        is_held_out=True,
    )


def make_judge(sandbox: ScriptedSandbox, seconds: float = 1e6) -> OutputJudge:
    return OutputJudge(lambda: sandbox, sandbox.time_left(seconds))


def test_what_hangs_or_crashes_the_check_fails_alone() -> None:
    sandbox = ScriptedSandbox()
    outputs = [RIGHT, HANGS, REFUSED, CRASHES, b"right too"]
    assert make_judge(sandbox).judge(make_case(), outputs) == ["p", "f", "f", "f", "p"]
    assert all(len(job) == 1 for job in sandbox.jobs)


def test_an_output_is_judged_once_for_a_case() -> None:
    sandbox = ScriptedSandbox()
    judge = make_judge(sandbox)
    assert judge.judge(make_case(), [RIGHT, RIGHT, REFUSED]) == ["p", "p", "f"]
    assert judge.judge(make_case(), [REFUSED, RIGHT]) == ["f", "p"]
    assert len(sandbox.jobs) == 2
    judge.judge(make_case("two"), [RIGHT])
    assert len(sandbox.jobs) == 3


def test_what_the_document_refuses_runs_no_check() -> None:
    sandbox = ScriptedSandbox()
    case = make_case(expect=Expectation(contains=("ri",), check=CHECK))
    assert make_judge(sandbox).judge(case, [RIGHT, b"other", b""]) == ["p", "f", "f"]
    assert sandbox.jobs == [["right"]]


def test_a_check_that_hangs_on_everything_takes_bounded_time() -> None:
    sandbox = ScriptedSandbox()
    outputs = [HANGS + b" " * number for number in range(100)]
    letters = make_judge(sandbox).judge(make_case(), outputs)
    hung = round(MAX_SILENT_SECONDS / CHECK_SECONDS)
    assert letters == ["f"] * hung + ["?"] * (100 - hung)
    assert sandbox.clock == MAX_SILENT_SECONDS


def test_what_was_not_judged_in_time_is_no_failure() -> None:
    sandbox = ScriptedSandbox()
    judge = make_judge(sandbox, seconds=CHECK_SECONDS * 1.5)
    outputs = [HANGS, HANGS + b" ", RIGHT, b""]
    assert judge.judge(make_case(), outputs) == ["f", "?", "?", "f"]
    assert sandbox.clock == CHECK_SECONDS * 1.5
    plain = make_case("plain", Expectation(contains=("ri",)))
    assert judge.judge(plain, [RIGHT]) == ["p"]  # no check, no time


def test_a_crash_near_the_end_of_the_time_is_a_failure() -> None:
    sandbox = ScriptedSandbox()
    judge = make_judge(sandbox, seconds=1.0)
    assert judge.judge(make_case(), [CRASHES, RIGHT]) == ["f", "p"]
