"""Outputs are judged apart from each other, within bounded time."""

from brain.gating.case_files import Case, Expectation
from brain.repo.learning.rounds import CHECK_SECONDS, OutputJudge
from tests.support.scripted_sandbox import ScriptedSandbox

CHECK = "def check(input, output): ...\n"
HANGS, CRASHES, REFUSED, RIGHT = b"hangs", b"crashes", b"refused", b"right"


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


def test_what_hangs_or_crashes_the_check_fails_alone():
    sandbox = ScriptedSandbox()
    outputs = [RIGHT, HANGS, REFUSED, CRASHES, b"right too"]
    assert make_judge(sandbox).judge(make_case(), outputs) == ["p", "f", "f", "f", "p"]
    assert all(len(job) == 1 for job in sandbox.jobs)


def test_an_output_is_judged_once_for_a_case():
    sandbox = ScriptedSandbox()
    judge = make_judge(sandbox)
    assert judge.judge(make_case(), [RIGHT, RIGHT, REFUSED]) == ["p", "p", "f"]
    assert judge.judge(make_case(), [REFUSED, RIGHT]) == ["f", "p"]
    assert len(sandbox.jobs) == 2
    judge.judge(make_case("two"), [RIGHT])
    assert len(sandbox.jobs) == 3


def test_what_the_document_refuses_runs_no_check():
    sandbox = ScriptedSandbox()
    case = make_case(expect=Expectation(contains=("ri",), check=CHECK))
    assert make_judge(sandbox).judge(case, [RIGHT, b"other", b""]) == ["p", "f", "f"]
    assert sandbox.jobs == [["right"]]


def test_what_was_not_judged_in_time_is_no_failure():
    sandbox = ScriptedSandbox()
    judge = make_judge(sandbox, seconds=CHECK_SECONDS * 1.5)
    outputs = [HANGS, HANGS + b" ", RIGHT, b""]
    assert judge.judge(make_case(), outputs) == ["f", "?", "?", "f"]
    assert sandbox.clock == CHECK_SECONDS * 1.5
    plain = make_case("plain", Expectation(contains=("ri",)))
    assert judge.judge(plain, [RIGHT]) == ["p"]  # no check, no time


def test_a_crash_near_the_end_of_the_time_is_a_failure():
    sandbox = ScriptedSandbox()
    judge = make_judge(sandbox, seconds=1.0)
    assert judge.judge(make_case(), [CRASHES, RIGHT]) == ["f", "p"]
