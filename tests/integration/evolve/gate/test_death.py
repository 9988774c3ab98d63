"""A process that dies while a change is tried leaves nothing half written."""

import pytest

from brain import Brain
from brain.repo.learning import record
from brain.repo.learning.rounds import CaseRounds
from brain.store.writer import StoreTransaction
from tests.support.gated_brains import SKILL, make_gated_brain, propose
from tests.support.process_death import dies_before_call

BETTER = "# Greet\n\nSay hello to guests.\n"
POINTS = {
    "the rounds": (CaseRounds, "run"),
    "the record": (record, "record_change"),
    "the objects": (StoreTransaction, "put_object"),
    "the ref": (StoreTransaction, "update_ref"),
    "the log": (StoreTransaction, "append_operation"),
}


@pytest.mark.parametrize("mode", ["gated", "propose"])
@pytest.mark.parametrize("point", POINTS)
def test_after_a_death_the_same_change_is_tried_once_more(tmp_path, mode, point):
    with make_gated_brain(tmp_path, mode=mode) as brain:
        head = brain.head
        with dies_before_call(*POINTS[point]):
            propose(brain, BETTER)
    with Brain.open(tmp_path, author="ada") as brain:
        assert brain.head == head and brain.verify(deep=True).findings == []
        assert brain.proposals.list() == [] and brain.gate.earlier_attempts(SKILL) == []
        outcome = propose(brain, BETTER)
        assert outcome.done == ("admitted" if mode == "gated" else "proposed")
        assert brain.verify(deep=True).findings == []


def test_a_death_between_proposal_and_attempt_makes_no_second_proposal(tmp_path):
    with make_gated_brain(tmp_path, cases=1) as brain, dies_before_call(record, "record_change"):
        propose(brain, BETTER)
    with Brain.open(tmp_path, author="ada") as brain:
        assert len(brain.proposals.list()) == 1
        outcome = propose(brain, BETTER)
        assert [one.name for one in brain.proposals.list()] == [outcome.proposal]
        assert len(brain.gate.earlier_attempts(SKILL)) == 1
