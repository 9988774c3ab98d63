"""Nonces: gaps that other programs or lying nodes leave, and how they are closed."""

import itertools
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from brain.chain.evm import EvmLedger
from brain.chain.evm.account import UnsignedTransaction
from brain.chain.evm.journal import ABANDONED
from brain.chain.evm.tx_sender import TxSender
from brain.chain.ledger_protocol import INCLUDED, PENDING
from brain.errors import Conflict
from tests.chain.test_evm_sending import OpenedBrain, S, manual_mining, opened
from tests.support.chain.evm_ledgers import open_patient_ledger
from tests.support.chain.lying_node import LyingNode, run_lying_node
from tests.support.error_codes import error_code
from tests.support.process_death import dies_before_call
from tests.support.refusals import raises_code

__all__ = ["manual_mining", "opened"]


def claim_pending(liar: LyingNode, more: int) -> None:
    """Let a node claim that many pending transactions more than there are."""

    def lie(answer: str, params: list[Any]) -> str:
        return hex(int(answer, 16) + more) if params[1] == "pending" else answer

    liar.alter("eth_getTransactionCount", lie)


def ledger_through(opened: OpenedBrain, *urls: str) -> EvmLedger:
    quorum = len(urls) // 2 + 1
    config = replace(opened.ledger.config, urls=urls, quorum=quorum)
    return open_patient_ledger(config, opened.folder, opened.key, patience=0.0)


def send_foreign(opened: OpenedBrain, nonce: int) -> str:
    """Another program sends with the same key; return the hash of its transaction."""
    fees = opened.records()[-1].last_attempt.fees
    foreign = UnsignedTransaction(
        chain_id=opened.node.chain,
        nonce=nonce,
        to=opened.key.address,
        data=b"",
        gas=21_000,
        max_fee=fees.max_fee * 2,
        tip=fees.tip * 2,
    )
    raw = opened.key.sign_transaction(foreign).raw
    return str(opened.node.call("eth_sendRawTransaction", "0x" + raw.hex()))


@pytest.fixture
def gap(opened, manual_mining):
    """A node whose lie made a commitment of S[1] wait behind three nonces that nobody uses."""
    with run_lying_node(manual_mining.url) as liar:
        claim_pending(liar, 3)
        assert ledger_through(opened, liar.url).commit(opened.brain, S[1], S[0]).status == PENDING
        assert opened.records()[-1].nonce == 4
        yield liar


def test_one_node_that_claims_pending_transactions_leaves_no_gap(opened, manual_mining):
    with ExitStack() as stack:
        liar, *others = (stack.enter_context(run_lying_node(manual_mining.url)) for _ in range(3))
        claim_pending(liar, 3)
        ledger = ledger_through(opened, liar.url, *(other.url for other in others))
        assert ledger.commit(opened.brain, S[1], S[0]).status == PENDING
        assert opened.records()[-1].nonce == 1
        manual_mining.mine()
        assert ledger.status(opened.brain, S[1]).status == INCLUDED


def test_a_commitment_behind_a_gap_moves_back_to_the_first_free_nonce(opened, manual_mining, gap):
    stuck = opened.records()[-1]
    manual_mining.mine()
    assert opened.ledger.status(opened.brain, S[1]).status == PENDING
    again = opened.reopen().commit(opened.brain, S[1], S[0])
    assert again.status == PENDING
    assert again.transaction != stuck.last_attempt.hash
    nonces = {record.nonce: record.status for record in opened.records()[1:]}
    assert nonces == {1: PENDING, 4: ABANDONED}
    manual_mining.mine()
    made = opened.ledger.status(opened.brain, S[1])
    assert (made.status, made.transaction, made.seq) == (INCLUDED, again.transaction, 2)
    assert [one.snapshot for one in opened.ledger.history(opened.brain)] == S[:2]


def test_a_crash_while_a_commitment_moves_back_leaves_it_to_the_next_run(
    opened, manual_mining, gap
):
    with dies_before_call(TxSender, "_post"):
        opened.reopen().commit(opened.brain, S[1], S[0])
    assert [record.status for record in opened.records()[1:]] == [ABANDONED]
    assert opened.reopen().commit(opened.brain, S[1], S[0]).status == PENDING
    manual_mining.mine()
    assert opened.ledger.status(opened.brain, S[1]).status == INCLUDED
    assert opened.nonce() == 2


def test_a_call_that_was_abandoned_behind_a_gap_changes_nothing_if_a_node_kept_it(
    opened, manual_mining, gap
):
    ledger = opened.reopen()
    ledger.commit(opened.brain, S[1], S[0])
    manual_mining.mine()
    for parent, snapshot in itertools.pairwise(S[1:]):
        assert ledger.commit(opened.brain, snapshot, parent).status == PENDING
        manual_mining.mine()
    assert [one.snapshot for one in ledger.history(opened.brain)] == S
    assert opened.nonce() == 7  # with the abandoned call at nonce 4, which was reverted


def test_a_commitment_behind_a_transaction_that_no_node_has_any_more_moves_back(
    opened, manual_mining
):
    foreign = send_foreign(opened, 1)
    stuck = opened.ledger.commit(opened.brain, S[1], S[0])
    assert opened.records()[-1].nonce == 2
    manual_mining.drop(foreign)
    manual_mining.mine()
    assert opened.nonce() == 1
    again = opened.reopen().commit(opened.brain, S[1], S[0])
    assert again.transaction != stuck.transaction
    manual_mining.mine()
    assert opened.ledger.status(opened.brain, S[1]).transaction == again.transaction


def test_a_commitment_stays_behind_the_transaction_of_another_program_that_nodes_have(
    opened, manual_mining
):
    send_foreign(opened, 1)
    first = opened.ledger.commit(opened.brain, S[1], S[0])
    assert opened.reopen().commit(opened.brain, S[1], S[0]).transaction == first.transaction
    manual_mining.mine()
    assert opened.ledger.status(opened.brain, S[1]).status == INCLUDED
    assert opened.nonce() == 3


def test_a_second_commitment_waits_for_the_one_that_its_run_sent_again(opened, manual_mining):
    lost = opened.ledger.commit(opened.brain, S[1], S[0])
    manual_mining.drop(lost.transaction)
    manual_mining.set_automine(True)
    # The node mines the first as soon as the second run sends it again.
    assert error_code(opened.reopen().commit, opened.brain, S[2], S[0]) == "stale_parent"
    assert opened.ledger.commit(opened.brain, S[2], S[1]).seq == 3


def test_a_stuck_commitment_in_the_way_is_told_and_offered_more_for(opened, manual_mining):
    slow = opened.ledger.commit(opened.brain, S[1], S[0])
    manual_mining.set_next_base_fee(opened.records()[-1].last_attempt.fees.max_fee * 2)
    manual_mining.mine()
    with raises_code("pending", Conflict, match="is pending") as raised:
        opened.reopen().commit(opened.brain, S[2], S[0])
    assert "run it again" in raised.value.hint
    fast = opened.ledger.status(opened.brain, S[1])
    assert (fast.status, fast.transaction != slow.transaction) == (PENDING, True)
    manual_mining.mine()
    assert opened.ledger.commit(opened.brain, S[2], S[1]).status == PENDING
    manual_mining.mine()
    assert [one.snapshot for one in opened.ledger.history(opened.brain)] == S[:3]
    assert opened.nonce() == 3
