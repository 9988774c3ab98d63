"""Rounds of cases end within the time and the limits of an attempt."""

from collections.abc import Callable, Sequence
from typing import cast

from brain.gating.case_files import Case, Expectation
from brain.repo.learning.change import SkillsAt
from brain.repo.learning.rounds import DEFAULT_LIMITS, CaseRounds, GateLimits
from brain.verdicts.verdict_rules import GateRecord
from tests.support.gated_brains import ScriptedRunner

SKILLS = cast("SkillsAt", None)
CASES = [
    Case(
        skill="greet",
        name=f"c{number}",
        path=f"skills/greet/cases/c{number}.yaml",
        blob=bytes([number]),
        input=f"Greet guest {number}",
        expect=Expectation(contains=("hello",)),
        is_held_out=True,
    )
    for number in range(6)
]


def pass_all(case: Case, outputs: Sequence[bytes]) -> list[str]:
    return ["p" for _ in outputs]


def run_rounds(
    runner: ScriptedRunner,
    *,
    judge: Callable[[Case, Sequence[bytes]], Sequence[str]] = pass_all,
    limits: GateLimits = DEFAULT_LIMITS,
    time_left: Callable[[], float] = lambda: 1.0,
) -> GateRecord | str:
    rounds = CaseRounds(
        runner=runner, judge=judge, old=SKILLS, new=SKILLS, limits=limits, time_left=time_left
    )
    return rounds.run(CASES, [])


def make_runner() -> ScriptedRunner:
    return ScriptedRunner(lambda skills, case, number: "hello")


def test_no_case_runs_after_the_time_is_over():
    runner = make_runner()
    tried = run_rounds(runner, time_left=lambda: 2.5 - runner.runs)
    assert runner.runs == 3  # also not the second run of a case
    assert isinstance(tried, str) and "longer than 1800 s" in tried


def test_a_round_with_an_output_that_was_not_judged_leaves_no_outcome():
    def judge(case: Case, outputs: Sequence[bytes]) -> list[str]:
        return ["p", "?"] if case is CASES[-1] and runner.runs > 12 else ["f", "p"]

    runner = make_runner()
    tried = run_rounds(runner, judge=judge)
    assert isinstance(tried, GateRecord)
    assert {(one.row.before, one.row.after) for one in tried.cases} == {("f", "p")}
    assert tried.decision.gate == "undecided" and "longer than" in tried.stopped


def test_too_few_runs_for_a_round_are_told_as_such():
    runner = make_runner()
    tried = run_rounds(runner, limits=GateLimits(runs=11))
    assert runner.runs == 0
    assert isinstance(tried, str) and "limit of 11 runs" in tried
