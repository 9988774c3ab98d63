"""The same change on the same cases is tried once, whatever came of it."""

from brain import Brain
from brain.errors import Conflict
from brain.gating.case_files import Case
from brain.repo.learning.change import ProposedChange, SkillsAt
from brain.results import GateOutcome
from tests.support.gated_brains import (
    GREETING,
    SKILL,
    ScriptedRunner,
    add_cases,
    greet_if_asked,
    make_gated_brain,
)
from tests.support.refusals import raises_code

SAME = "# Greet\n\nWelcome all guests.\n"
BETTER = "# Greet\n\nSay hello to guests.\n"


def change(body: str, evolver: str = "gaps", name: str = SKILL) -> ProposedChange:
    return ProposedChange(name=name, evolver=evolver, body=body, description="Greet a guest")


def test_errors_of_the_old_side_are_no_reason_to_try_again(tmp_path):
    """So it is for each new program: without the change, there is nothing to run."""

    def fail_before(skills: SkillsAt, case: Case, number: int) -> str:
        if "all guests" not in (skills.text(SKILL) or ""):
            raise RuntimeError("the skill has no program")
        return "go away" if case.name.endswith(("-0", "-1", "-2", "-3", "-4")) else GREETING

    for repeats_itself in (True, False):
        with make_gated_brain(tmp_path / f"{repeats_itself}", cases=6) as brain:
            runner = ScriptedRunner(fail_before, repeats_itself=repeats_itself)
            first = brain.gate.open(runner=runner).propose(change(SAME))
            assert first.done == "kept" and runner.runs > 0
            lucky = ScriptedRunner(
                lambda skills, case, number: GREETING, repeats_itself=repeats_itself
            )
            again = brain.gate.open(runner=lucky).propose(change(SAME, "person"))
            assert (again.attempt, again.done, lucky.runs) == (first.attempt, "kept", 0)
            assert again.numbers == first.numbers._replace(worse=())


def test_a_program_that_gives_nothing_but_errors_is_not_run_again(tmp_path):
    def fail(skills: SkillsAt, case: Case, number: int) -> str:
        raise RuntimeError("it crashed")

    with make_gated_brain(tmp_path, cases=6) as brain:
        runner = ScriptedRunner(fail, repeats_itself=True)
        first = brain.gate.open(runner=runner).propose(change(SAME))
        again = brain.gate.open(runner=runner).propose(change(SAME))
        assert (again.attempt, runner.runs) == (first.attempt, 12)


def try_again(brain: Brain, body: str = BETTER) -> tuple[GateOutcome, int]:
    """Propose a change; return the outcome, and how many cases were run for it."""
    runner = ScriptedRunner(greet_if_asked)
    return brain.gate.open(runner=runner).propose(change(body)), runner.runs


def test_what_waits_for_a_person_is_not_tried_again(tmp_path):
    with make_gated_brain(tmp_path, mode="propose", cases=6) as brain:
        first, runs = try_again(brain)
        assert (first.done, runs) == ("proposed", 60)
        again, runs = try_again(brain)
        assert (again.gate, again.done, runs) == ("admit", "proposed", 0)
        assert again.proposal == first.proposal
        assert again.numbers == first.numbers._replace(worse=())
        assert "tried before" in again.reason and not again.changed
        assert [one.snapshot for one in brain.proposals.list()] == [first.snapshot]


def test_a_proposal_that_nothing_tried_stands_in_the_way_of_no_gate(tmp_path):
    with make_gated_brain(tmp_path, cases=6) as brain:
        with brain.proposals.open("branch") as branch:
            written = branch.gate.record_untried(change(BETTER, "grind"))
            branch.files.write_all({"memory/a.md": b"a\n", "memory/b.md": b"b\n"})
            assert branch.history.resolve("@~1") == written.snapshot
            assert branch.gate.read_workspace().keys() == {
                *(f"memory/{name}.md" for name in "ab"),
                f"skills/{SKILL}/SKILL.md",
            }
        with raises_code("not_in_proposal", Conflict):
            brain.gate.record_untried(change(BETTER, "grind"))
        assert try_again(brain)[0].done == "admitted"


def test_with_another_case_what_waits_is_tried_again(tmp_path):
    with make_gated_brain(tmp_path, mode="propose", cases=6) as brain:
        first, _ = try_again(brain)
        add_cases(brain, SKILL, 7)
        again, runs = try_again(brain)
        assert again.numbers.cases == 7 and runs == 70
        assert (again.done, again.proposal) == ("proposed", first.proposal)


def test_what_a_new_case_speaks_against_is_rejected_although_it_waits(tmp_path):
    def fail_the_new_one(skills: SkillsAt, case: Case, number: int) -> str:
        said = greet_if_asked(skills, case, number)
        return {GREETING: "go away", "go away": GREETING}[said] if "-6" in case.name else said

    with make_gated_brain(tmp_path, mode="propose", cases=6) as brain:
        try_again(brain)
        add_cases(brain, SKILL, 7)
        for is_first in (True, False):
            runner = ScriptedRunner(fail_the_new_one)
            outcome = brain.gate.open(runner=runner).propose(change(BETTER))
            assert (outcome.gate, outcome.done) == ("reject", "rejected")
            assert (runner.runs > 0) is is_first


def test_what_nothing_could_try_is_tried_once_it_has_cases(tmp_path):
    with make_gated_brain(tmp_path, mode="propose", cases=0) as brain:
        first, runs = try_again(brain)
        assert (first.gate, first.done, runs) == ("", "proposed", 0)
        add_cases(brain, SKILL, 6)
        again, runs = try_again(brain)
        assert (again.gate, again.done, runs) == ("admit", "proposed", 60)


def test_with_too_few_cases_it_waits_and_is_not_tried_again(tmp_path):
    with make_gated_brain(tmp_path, cases=1) as brain:
        first, _ = try_again(brain)
        again, runs = try_again(brain)
        assert (again.gate, again.done, runs) == ("undecided", "proposed", 0)
        assert (again.proposal, again.attempt) == (first.proposal, first.attempt)
        brain.proposals.reject(first.proposal)
        after, runs = try_again(brain)  # the numbers of the attempt stay
        assert (after.done, after.proposal, runs) == ("kept", "", 0)


def test_a_proposal_that_a_person_rejected_is_gone_like_any_other(tmp_path):
    with make_gated_brain(tmp_path, mode="propose", cases=6) as brain:
        first, _ = try_again(brain)
        brain.proposals.reject(first.proposal)
        again, runs = try_again(brain)
        assert (again.done, again.proposal, runs) == ("proposed", first.proposal, 60)
        assert len(brain.proposals.list()) == 1


def test_another_change_that_waits_stops_nothing(tmp_path):
    with make_gated_brain(tmp_path, mode="propose", cases=6) as brain:
        try_again(brain)
        other, runs = try_again(brain, "# Greet\n\nSay hello, always.\n")
        assert (other.done, runs) == ("proposed", 60)
        assert len(brain.proposals.list()) == 2
