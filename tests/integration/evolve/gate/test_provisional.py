"""A change that is only shown to help the cases it was tried on: proposed, or live and marked."""

import pytest

from brain import Brain
from brain.gating.case_files import Case
from brain.repo.learning.change import SkillsAt
from brain.results import GateOutcome
from tests.support.gated_brains import (
    GREETING,
    SKILL,
    add_cases,
    greet_if_asked,
    make_gated_brain,
    propose,
    set_mode,
)

BETTER = "# Greet\n\nSay hello to guests.\n"
SAME = "# Greet\n\nWelcome all guests.\n"


def greet_in_four(skills: SkillsAt, case: Case, number: int) -> str:
    """Answer four of the cases with the change, too few for an admission."""
    is_one = case.name.endswith(("-0", "-1", "-2", "-3"))
    return greet_if_asked(skills, case, number) if is_one else "go away"


def try_on_eight(folder, policy: str, mode: str = "gated") -> tuple[Brain, GateOutcome]:
    brain = make_gated_brain(folder, cases=8)
    set_mode(brain, mode, provisional=policy)
    return brain, propose(brain, BETTER, greet_in_four)


@pytest.mark.parametrize(
    ("policy", "mode", "done"),
    [
        ("allow", "gated", "provisional"),
        ("allow", "propose", "proposed"),
        ("propose", "gated", "proposed"),
        ("off", "gated", "kept"),
    ],
)
def test_the_manifest_says_what_becomes_of_it(tmp_path, policy, mode, done):
    brain, outcome = try_on_eight(tmp_path, policy, mode)
    with brain:
        assert (outcome.gate, outcome.done, outcome.numbers.provisional) == (
            "undecided",
            done,
            "yes",
        )
        is_live = "Say hello" in brain.skills.view(SKILL).body
        assert is_live is (done == "provisional")
        if done == "proposed":
            brain.proposals.accept(outcome.snapshot)
            assert "Say hello" in brain.skills.view(SKILL).body
        assert brain.verify(deep=True).findings == []


def test_what_is_live_is_marked_and_derived_again(tmp_path):
    brain, outcome = try_on_eight(tmp_path, "allow")
    with brain:
        assert outcome.numbers.rounds == 12 and float(outcome.numbers.e_of_runs) > 20
        (decision, *_) = brain.history.why(SKILL).decisions
        assert decision.summary.startswith(
            "admitted as provisional (it helps these very cases), the gate is undecided"
        )
        found = brain.gate.recheck(SKILL)
        assert (found.differences, found.found_gate) == ([], "undecided")
        assert (found.provisional, found.found_provisional) == ("yes", "yes")
        assert brain.gate.read_stream().provisional == 1


def test_attempts_are_held_to_one_bound_that_the_brain_alone_tells(tmp_path):
    with make_gated_brain(tmp_path, cases=12) as brain:
        assert brain.gate.read_stream().next_e == 40
        propose(brain, SAME)
        found = brain.gate.read_stream()
        assert (found.attempts, found.admitted, found.next_e) == (1, 0, 120)
        assert propose(brain, BETTER).done == "admitted"  # E of 12 wins is above 120
        add_cases(brain, SKILL, 14)
        found = brain.gate.read_stream()
        assert (found.attempts, found.admitted, found.upheld) == (2, 1, 1)
        assert (found.not_upheld, found.next_e) == ([], 120)


def test_an_admission_that_only_holds_by_itself_is_named(tmp_path):
    def greet_in_five(skills: SkillsAt, case: Case, number: int) -> str:
        is_one = not case.name.endswith(("-5", "-6", "-7"))
        return GREETING if is_one and "Say hello" in (skills.text(SKILL) or "") else "go away"

    with make_gated_brain(tmp_path, cases=8) as brain:
        outcome = propose(brain, BETTER, greet_in_five)
        assert (outcome.done, outcome.numbers.e_value) == ("admitted", "21.250")
        found = brain.gate.read_stream()
        assert (found.upheld, found.not_upheld, found.next_e) == (0, [f"{SKILL}@2"], 120)
