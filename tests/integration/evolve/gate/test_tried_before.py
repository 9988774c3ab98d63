"""The same change on the same cases is tried once, whatever came of it."""

from __future__ import annotations

from pathlib import Path

from brain.evolve.gate.case_runner import SkillsUnderTest
from brain.evolve.gate.gate import Gate
from brain.evolve.gate.proposed_change import ProposedChange
from brain.gating.case_types import Case
from tests.support.gated_brains import (
    GREETING,
    SKILL,
    ScriptedRunner,
    make_gated_brain,
)

SAME = "# Greet\n\nWelcome all guests.\n"
BETTER = "# Greet\n\nSay hello to guests.\n"


def change(body: str, evolver: str = "gaps", name: str = SKILL) -> ProposedChange:
    return ProposedChange(name=name, evolver=evolver, body=body, description="Greet a guest")


def test_errors_of_the_old_side_are_no_reason_to_try_again(tmp_path: Path) -> None:
    """So it is for each new program: without the change, there is nothing to run."""

    def fail_before(skills: SkillsUnderTest, case: Case, number: int) -> str:
        if "all guests" not in (skills.text(SKILL) or ""):
            raise RuntimeError("the skill has no program")
        return "go away" if case.name.endswith(("-0", "-1", "-2")) else GREETING

    for repeats_itself in (True, False):
        with make_gated_brain(tmp_path / f"{repeats_itself}", cases=6) as brain:
            runner = ScriptedRunner(fail_before, repeats_itself=repeats_itself)
            first = Gate(brain, runner=runner).propose(change(SAME))
            assert first.done == "kept" and runner.runs > 0
            lucky = ScriptedRunner(
                lambda skills, case, number: GREETING, repeats_itself=repeats_itself
            )
            again = Gate(brain, runner=lucky).propose(change(SAME, "person"))
            assert (again.attempt, again.done, lucky.runs) == (first.attempt, "kept", 0)
            assert again.numbers == first.numbers._replace(worse=())


def test_a_program_that_gives_nothing_but_errors_is_not_run_again(tmp_path: Path) -> None:
    def fail(skills: SkillsUnderTest, case: Case, number: int) -> str:
        raise RuntimeError("it crashed")

    with make_gated_brain(tmp_path, cases=6) as brain:
        runner = ScriptedRunner(fail, repeats_itself=True)
        first = Gate(brain, runner=runner).propose(change(SAME))
        again = Gate(brain, runner=runner).propose(change(SAME))
        assert (again.attempt, runner.runs) == (first.attempt, 12)
