"""A brain that commits to a chain while that reorganises, mines late or goes back."""

import pytest

from brain import Brain
from brain.chain.ledger_protocol import FINALIZED, INCLUDED, PENDING
from brain.errors import Conflict, VerificationFailed
from brain.repo.ledgers import seen
from tests.support.chain.evm_ledgers import funded_account, ledger_config, open_patient_ledger
from tests.support.process_death import dies_before_call
from tests.support.refusals import raises_code


@pytest.fixture
def brain(tmp_path):
    with Brain.init(tmp_path / "agent", name="agent", author="tester") as made:
        made.skills.upsert("A", "One.\n")
        yield made


@pytest.fixture
def chain(registry, tmp_path, request):
    key = funded_account(registry.node, request.node.nodeid)
    config = ledger_config(registry.node, registry.address, finality=2)
    return open_patient_ledger(config, tmp_path / "ledgers", key)


def test_a_commitment_lost_in_a_reorganisation_is_made_again(brain, chain, registry):
    brain.ledger.open(chain)
    brain.skills.upsert("A", "Two.\n")
    once = brain.ledger.commit(chain)
    registry.node.reorg(1)
    again = brain.ledger.commit(chain)
    assert (again.transaction, again.status, again.seq) == (once.transaction, INCLUDED, 2)


def test_a_commitment_that_a_crash_left_unrecorded_is_recorded_by_the_next_run(brain, chain):
    brain.ledger.open(chain)
    brain.skills.upsert("A", "Two.\n")
    with dies_before_call(seen, "record_last_seen_head"):
        brain.ledger.commit(chain)
    sent = brain.ledger.status(chain).commitments[-1]
    assert (sent.seq, last_seen(brain)) == (2, [1])
    assert brain.ledger.commit(chain).transaction == sent.transaction
    assert last_seen(brain) == [2]


def test_a_first_commitment_that_a_crash_left_unrecorded_is_recorded_by_the_next_commit(
    brain, chain
):
    with dies_before_call(seen, "record_last_seen_head"):
        brain.ledger.open(chain)
    with raises_code("already_open", Conflict) as raised:
        brain.ledger.open(chain)
    assert "brain chain commit" in raised.value.hint
    assert brain.ledger.commit(chain).seq == 1
    assert last_seen(brain) == [1]


def last_seen(brain: Brain) -> list[int]:
    """Return the last commitment that the brain has recorded for each ledger."""
    heads = seen.read_last_seen_heads(brain._session.reader)
    return [head.seq for head in heads.values()]


def test_a_commitment_that_waits_is_told_as_pending_and_is_no_alarm(brain, chain, registry):
    brain.ledger.open(chain)
    brain.skills.upsert("A", "Two.\n")
    registry.node.set_automine(False)
    chain._context.patience = 0.0
    try:
        assert brain.ledger.commit(chain).status == PENDING
        assert brain.ledger.status(chain).seq == 1
        assert brain.ledger.commit(chain).status == PENDING
        registry.node.mine()
    finally:
        registry.node.set_automine(True)
    registry.node.mine(2)
    assert brain.ledger.status(chain).status == FINALIZED
    assert brain.ledger.status(chain).behind == 0


def test_a_chain_that_takes_back_what_was_final_raises_the_alarm(brain, chain, registry):
    brain.ledger.open(chain)
    state = registry.node.snapshot()
    brain.skills.upsert("A", "Two.\n")
    brain.ledger.commit(chain)
    registry.node.mine(2)
    assert brain.ledger.status(chain).status == FINALIZED
    registry.node.revert(state)
    with raises_code("rolled_back", VerificationFailed):
        brain.ledger.commit(chain)
