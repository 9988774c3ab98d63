"""Cases that were made of the run that a change was learned from are not tried."""

from itertools import islice

import pytest

from brain import Brain
from brain.evolve.evolver import build_call_receipt
from brain.gating.case_files import Expectation
from brain.receipts import Receipt
from brain.receipts.receipt import SYNTHESIS_AGENT, learning_task, run_source
from brain.repo.learning.change import ProposedChange
from brain.results import GateOutcome
from tests.support.gate_decisions import inputs_of_half
from tests.support.gated_brains import (
    GREETING,
    SKILL,
    ScriptedRunner,
    greet_if_asked,
    make_gated_brain,
    set_mode,
)

RUN = Receipt(run="0123456789abcdef0123456789abcdef", task="Greet: politely", outcome="success")
BETTER = "# Greet\n\nSay hello to guests.\n"


def add_own_cases(brain: Brain, number: int, run: str = RUN.run) -> list[str]:
    tasks = islice(inputs_of_half(held_out=True), 40, 40 + number)
    expect = Expectation(contains=(GREETING,))
    return [brain.gate.add_case(SKILL, task, expect, run_source(run)).path for task in tasks]


def propose(brain: Brain, receipt: Receipt) -> GateOutcome:
    change = ProposedChange(name=SKILL, evolver="synthesis", body=BETTER, receipt=receipt)
    return brain.gate.open(runner=ScriptedRunner(greet_if_asked)).propose(change)


def learned() -> Receipt:
    return build_call_receipt(learning_task(RUN), SYNTHESIS_AGENT, "m", [])


@pytest.mark.parametrize("mode", ["gated", "propose"])
def test_they_are_left_out_and_counted(tmp_path, mode):
    with make_gated_brain(tmp_path, cases=12) as brain:
        set_mode(brain, mode)
        own = add_own_cases(brain, 9)
        outcome = propose(brain, learned())
        assert outcome.gate == "admit" and outcome.numbers is not None
        assert outcome.numbers.cases == 12
        assert "the change was learned from: 9" in outcome.reason
        assert not any(path in str(outcome) for path in own)
        assert brain.verify(deep=True).findings == []


def test_cases_of_other_runs_are_tried(tmp_path):
    with make_gated_brain(tmp_path, cases=6) as brain:
        add_own_cases(brain, 3, run="fedcba9876543210")
        outcome = propose(brain, learned())
        assert outcome.numbers is not None and outcome.numbers.cases == 9
        assert "left out" not in outcome.reason


def test_a_change_with_its_own_cases_alone_is_proposed_to_a_person(tmp_path):
    with make_gated_brain(tmp_path, cases=0) as brain:
        add_own_cases(brain, 8)
        outcome = propose(brain, learned())
        assert (outcome.gate, outcome.done) == ("", "proposed")
        assert "no held-out cases" in outcome.reason and "learned from: 8" in outcome.reason


def test_only_the_receipt_of_a_synthesis_names_the_run_of_another(tmp_path):
    with make_gated_brain(tmp_path, cases=6) as brain:
        add_own_cases(brain, 2)
        receipt = build_call_receipt(learning_task(RUN), "another agent", "m", [])
        outcome = propose(brain, receipt)
        assert outcome.numbers is not None and outcome.numbers.cases == 8
