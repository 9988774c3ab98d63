"""Cases that are tasks have scores from 0 to 1, and a count of how often the skill was read."""

import json
from dataclasses import dataclass, replace
from itertools import islice
from threading import RLock

import pytest

from brain import Brain
from brain.gating.held_out import is_held_out
from brain.gating.output_check import TASK_PASSES
from brain.repo.learning import recheck
from brain.repo.learning.change import ProposedChange
from brain.repo.learning.rounds import CaseOutput
from tests.support.gated_brains import SKILL, make_gated_brain, set_mode

INPUTS = [
    one
    for one in ({"task": f"t{at}", "instruction": "Do it."} for at in range(99))
    if is_held_out(one)
]


@dataclass
class Solver:
    """Reaches `before` with the old text and `after` with the new, and says what it read."""

    before: float
    after: float
    was_read: bool | None = None
    name = "scripted"
    repeats_itself = False
    kinds = ()

    def run(self, skills, case, number):
        is_new = "hello" in (skills.text(SKILL) or "")
        score = self.after if is_new else self.before
        return CaseOutput(output=json.dumps({"score": score}).encode(), was_read=self.was_read)


@pytest.fixture
def brain(tmp_path):
    with make_gated_brain(tmp_path / "brain", cases=0) as made:
        for one in islice(INPUTS, 8):
            made.gate.add_case(SKILL, one, TASK_PASSES, name=one["task"])
        yield made


def try_it(brain: Brain, solver: Solver):
    change = ProposedChange(name=SKILL, evolver="person", body="Say hello.\n")
    return brain.gate.open(runner=solver).propose(change)


@pytest.mark.parametrize(
    ("before", "after", "done", "said"),
    [
        (0.1, 0.9, "admitted", [100, 900]),
        (0.9, 0.1, "rejected", [900, 100]),
        (0.0, 1.0, "admitted", []),  # all or nothing: the letters say it
        (0.0, 0.29, "proposed", [0, 290]),
    ],
)
def test_a_score_counts_as_such_and_is_derived_again(brain, before, after, done, said):
    outcome = try_it(brain, Solver(before, after))
    assert outcome.done == done and outcome.numbers is not None
    assert max(outcome.numbers.wins, outcome.numbers.losses) == 8 * outcome.numbers.rounds
    assert outcome.numbers.read_cases is None
    found = recheck.find_gate_verdict(brain._session, outcome.attempt or outcome.snapshot)
    rounds = outcome.numbers.rounds
    assert [list(one.scores) for one in found.verdict.gate_cases] == [said * rounds] * 8
    assert not brain.gate.recheck(found.blob.hex()).differences and brain.verify().ok


@pytest.mark.parametrize("forged", [(100, 999), ()])
def test_a_verdict_with_other_scores_than_came_out_is_not_the_same_again(brain, forged):
    outcome = try_it(brain, Solver(0.1, 0.5))
    found = recheck.find_gate_verdict(brain._session, outcome.attempt or outcome.snapshot)
    first, *others = found.verdict.cases
    first = first._replace(scores=forged * len(first.before))
    verdict = found.verdict._replace(cases=(first, *others))
    rechecker = recheck.Rechecker(brain._session, RLock(), lambda: pytest.fail("no check runs"))
    again = rechecker.recheck(replace(found, verdict=verdict))
    assert again.cases[0].state == "differs"
    assert again.cases[0].problem == "by what came out, its scores are others"
    assert "1 case has another outcome" in again.differences


@pytest.mark.parametrize(("was_read", "count", "rounds"), [(False, 0, 1), (True, 8, 5)])
def test_what_no_task_reads_ends_after_one_round_and_is_kept(brain, was_read, count, rounds):
    outcome = try_it(brain, Solver(0.0, 1.0, was_read))
    numbers = outcome.numbers
    assert numbers is not None and (numbers.read_cases, numbers.rounds) == (count, rounds)
    assert outcome.done == ("admitted" if was_read else "kept")
    if not was_read:
        assert outcome.reason == "read in 0 of 8 tasks, so its text was not tried"
        (earlier,) = brain.gate.earlier_attempts(SKILL)
        assert earlier.reason == outcome.reason
    assert not brain.gate.recheck(outcome.attempt or outcome.snapshot).differences
    assert brain.verify().ok


def test_what_no_task_reads_is_kept_however_few_tasks_there_are(tmp_path):
    with make_gated_brain(tmp_path / "few", cases=0) as brain:
        for one in islice(INPUTS, 2):
            brain.gate.add_case(SKILL, one, TASK_PASSES, name=one["task"])
        outcome = try_it(brain, Solver(0.0, 1.0, was_read=False))
        assert (outcome.done, outcome.proposal) == ("kept", "")
        assert outcome.reason == "read in 0 of 2 tasks, so its text was not tried"


def test_what_is_added_to_a_provisional_change_is_counted_with_its_scores_and_reads(brain):
    set_mode(brain, "gated", provisional="allow")
    assert try_it(brain, Solver(0.1, 0.5, was_read=True)).done == "provisional"
    for one in islice(INPUTS, 8, 12):
        brain.gate.add_case(SKILL, one, TASK_PASSES, name=one["task"])
    (live,) = brain.gate.list_provisional()
    outcome = brain.gate.open(runner=Solver(0.1, 0.5, was_read=True)).go_on(live, live.since)
    numbers = outcome.numbers
    assert numbers is not None and (numbers.cases, numbers.read_cases) == (12, 12)
    verdict = recheck.find_gate_verdict(brain._session, outcome.snapshot).verdict
    assert {one.scores for one in verdict.gate_cases} == {(100, 500) * numbers.rounds}
    assert not brain.gate.recheck(outcome.snapshot).differences and brain.verify().ok
