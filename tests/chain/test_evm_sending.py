"""Transactions that survive: crashes, lost and stuck and replaced ones, reorganisations."""

import itertools
import random
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from brain.chain.evm import Account, EvmLedger, durable_files, tx_sender
from brain.chain.evm.account import UnsignedTransaction
from brain.chain.evm.journal import ABANDONED, TxJournal, TxRecord
from brain.chain.evm.nodes import NodeQuorum
from brain.chain.evm.tx_sender import STUCK_BLOCKS, TxSender
from brain.chain.ledger_protocol import FAILED, INCLUDED, PENDING, REPLACED, Commitment
from brain.errors import LedgerError, Locked, StoreError
from tests.support.anvil_node import Anvil
from tests.support.chain import killed_commits
from tests.support.chain.evm_ledgers import (
    FINAL_BLOCKS,
    funded_account,
    ledger_config,
    open_patient_ledger,
    open_registry_ledger,
)
from tests.support.chain.lying_node import run_lying_node
from tests.support.chain.registry_contract import word_of
from tests.support.error_codes import error_code
from tests.support.process_death import dies_before_call
from tests.support.refusals import raises_code

S = [word_of(f"snapshot {n}") for n in range(6)]
GWEI = 10**9


class OpenedBrain(NamedTuple):
    """A ledger in which `brain` was opened, its key, and the folder of its journal."""

    ledger: EvmLedger
    key: Account
    folder: Path
    brain: bytes
    node: Anvil

    def records(self) -> list[TxRecord]:
        (folder,) = self.folder.glob("chains/*/*")
        return TxJournal(folder).unsettled_records()

    def nonce(self) -> int:
        return int(self.node.call("eth_getTransactionCount", self.key.address, "latest"), 16)

    def reopen(self) -> EvmLedger:
        """The same ledger as another process has it."""
        return open_patient_ledger(
            self.ledger.config, self.folder, self.key, patience=self.ledger._context.patience
        )


def offer_more(ledger: EvmLedger, brain: bytes, snapshot: bytes) -> Commitment:
    """Commit again after S[0], as when so many blocks have passed that more is offered."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tx_sender, "STUCK_BLOCKS", 0)
        return ledger.commit(brain, snapshot, S[0])


@pytest.fixture
def opened(registry, tmp_path, request):
    node = registry.node
    key = funded_account(node, request.node.nodeid)
    brain = word_of(request.node.nodeid)
    made = open_patient_ledger(ledger_config(node, registry.address), tmp_path, key)
    made.open(brain, S[0])
    return OpenedBrain(made, key, tmp_path, brain, node)


@pytest.fixture
def manual_mining(node, opened):
    """A node that mines only when the test asks it to; the ledger does not wait for it."""
    opened.ledger._context.patience = 0.0
    node.set_automine(False)
    yield node
    node.mine()
    node.set_automine(True)


@pytest.fixture
def signer_ledger(opened, manual_mining):
    """The ledger for another account, which the owner made the signer of the brain."""
    signer = funded_account(manual_mining, f"signer of {opened.brain.hex()}")
    opened.ledger.ownership.set_signer(opened.brain, signer.address)
    manual_mining.mine()
    config = replace(opened.ledger.config, creator=opened.key.address)
    return open_patient_ledger(config, opened.folder / "signer", signer, patience=0.0)


@pytest.fixture
def overtaken(opened, signer_ledger, manual_mining):
    """A brain of which the signer committed S[2], so that the pending S[1] can only fail."""
    lost = opened.ledger.commit(opened.brain, S[1], S[0])
    manual_mining.drop(lost.transaction)
    signer_ledger.commit(opened.brain, S[2], S[0])
    manual_mining.mine()
    return opened


@pytest.mark.parametrize("moment", killed_commits.KILL_MOMENTS)
def test_a_crash_leaves_one_commitment_at_most_and_the_next_run_makes_it(moment, opened, registry):
    killed_commits.commit_and_crash(
        moment, registry, opened.ledger, opened.key, opened.folder, opened.brain, *S[:2]
    )
    before = opened.records()[-1]
    made = opened.reopen().commit(opened.brain, S[1], S[0])
    assert (made.seq, made.status) == (2, INCLUDED)
    assert [one.snapshot for one in opened.ledger.history(opened.brain)] == S[:2]
    assert opened.nonce() == 2
    if moment != "before the journal":
        assert before.intent.snapshot == S[1]
        assert made.transaction == before.last_attempt.hash  # the same bytes


def test_after_a_crash_before_the_broadcast_the_commitment_is_pending(opened, registry):
    moment = "between sign and broadcast"
    killed_commits.commit_and_crash(
        moment, registry, opened.ledger, opened.key, opened.folder, opened.brain, *S[:2]
    )
    result = opened.reopen().status(opened.brain, S[1])
    assert (result.status, result.seq, result.block) == (PENDING, 2, None)


def test_after_a_crash_another_brain_of_the_same_key_takes_the_next_nonce(opened, registry):
    moment = "between sign and broadcast"
    killed_commits.commit_and_crash(
        moment, registry, opened.ledger, opened.key, opened.folder, opened.brain, *S[:2]
    )
    other = word_of("another brain of the same key")
    assert opened.reopen().open(other, S[0]).seq == 1
    assert opened.reopen().status(opened.brain, S[1]).status == INCLUDED
    assert opened.nonce() == 3


def test_kills_at_any_moment_leave_each_commitment_made_once(opened, registry):
    chance = random.Random(8)
    snapshots = [S[0], *(word_of(f"killed {n}") for n in range(24))]
    for _ in range(4):
        killed_commits.commit_and_kill_after(
            chance.uniform(0, 0.4),
            *(registry, opened.ledger, opened.key, opened.folder, opened.brain, *snapshots),
        )
    head = opened.ledger.head(opened.brain)
    assert head is not None
    remaining = snapshots[snapshots.index(head.snapshot) :]
    for parent, snapshot in itertools.pairwise(remaining):
        opened.reopen().commit(opened.brain, snapshot, parent)
    assert [one.snapshot for one in opened.ledger.history(opened.brain)] == snapshots
    assert opened.nonce() == len(snapshots)  # none was sent twice, none for nothing


def test_a_crash_before_a_replacement_is_broadcast_leaves_that_to_the_next_run(
    opened, manual_mining
):
    slow = opened.ledger.commit(opened.brain, S[1], S[0])
    old = opened.records()[-1].last_attempt.raw
    with dies_before_call(NodeQuorum, "broadcast", lambda quorum, raw: raw != old):
        offer_more(opened.ledger, opened.brain, S[1])
    fast = opened.records()[-1].last_attempt.hash
    assert fast != slow.transaction
    assert opened.reopen().commit(opened.brain, S[1], S[0]).transaction == fast
    manual_mining.mine()
    assert opened.ledger.status(opened.brain, S[1]).transaction == fast
    assert opened.nonce() == 2


def test_a_crash_while_a_final_transaction_is_put_aside_loses_none(opened):
    opened.node.mine(FINAL_BLOCKS)
    with dies_before_call(durable_files, "move_durably"):
        opened.ledger.commit(opened.brain, S[1], S[0])
    assert [record.status for record in opened.records()] == [INCLUDED]
    assert opened.reopen().commit(opened.brain, S[1], S[0]).seq == 2
    assert [record.intent.snapshot for record in opened.records()] == [S[1]]
    assert len(list(opened.folder.rglob("done/*.json"))) == 1


def test_a_crash_after_a_commitment_was_abandoned_leaves_its_nonce_to_the_next(
    overtaken, manual_mining
):
    opened = overtaken
    with dies_before_call(TxSender, "send"):
        opened.ledger.commit(opened.brain, S[3], S[2])
    assert opened.records()[-1].status == ABANDONED
    again = opened.reopen()
    assert again.commit(opened.brain, S[3], S[2]).status == PENDING
    assert opened.records()[-1].nonce == 2
    manual_mining.mine()
    assert again.status(opened.brain, S[3]).status == INCLUDED


def test_who_waits_too_long_for_the_key_is_told(opened, monkeypatch):
    monkeypatch.setattr("brain.chain.evm.journal.LOCK_WAIT_SECONDS", 0.01)
    (folder,) = opened.folder.glob("chains/*/*")
    with TxJournal(folder).exclusive_lock(), pytest.raises(Locked) as raised:
        opened.ledger.commit(opened.brain, S[1], S[0])
    assert "key" in raised.value.message


def test_chain_08_a_transaction_that_a_node_forgot_is_sent_again_as_it_was(opened, manual_mining):
    first = opened.ledger.commit(opened.brain, S[1], S[0])
    manual_mining.drop(first.transaction)
    assert opened.ledger.status(opened.brain, S[1]).status == PENDING
    second = opened.reopen().commit(opened.brain, S[1], S[0])
    assert second.transaction == first.transaction
    manual_mining.mine()
    assert opened.ledger.status(opened.brain, S[1]).status == INCLUDED
    assert opened.nonce() == 2


def test_chain_08_a_stuck_transaction_is_replaced_once_its_price_was_overtaken(
    opened, manual_mining
):
    stuck = opened.ledger.commit(opened.brain, S[1], S[0])
    dear = opened.records()[-1].last_attempt.fees.max_fee * 2
    manual_mining.set_next_base_fee(dear)
    manual_mining.mine()
    assert opened.ledger.status(opened.brain, S[1]).status == PENDING
    again = opened.reopen().commit(opened.brain, S[1], S[0])
    assert (again.status, again.transaction != stuck.transaction) == (PENDING, True)
    old, new = opened.records()[-1].attempts
    assert new.fees.max_fee * 8 >= old.fees.max_fee * 9
    assert new.fees.tip * 8 >= old.fees.tip * 9
    assert new.data == old.data
    manual_mining.mine()
    made = opened.ledger.status(opened.brain, S[1])
    assert (made.status, made.transaction) == (INCLUDED, again.transaction)
    assert opened.nonce() == 2


def test_chain_08_more_is_offered_for_what_is_in_none_of_many_blocks(opened, manual_mining):
    slow = opened.ledger.commit(opened.brain, S[1], S[0])
    manual_mining.drop(slow.transaction)
    manual_mining.mine(STUCK_BLOCKS - 1)
    assert opened.ledger.commit(opened.brain, S[1], S[0]).transaction == slow.transaction
    manual_mining.drop(slow.transaction)
    manual_mining.mine(1)
    fast = opened.ledger.commit(opened.brain, S[1], S[0])
    assert fast.transaction != slow.transaction
    manual_mining.mine()
    assert opened.ledger.status(opened.brain, S[1]).transaction == fast.transaction
    assert opened.nonce() == 2


def test_a_wait_ends_well_if_another_process_offered_more_meanwhile(opened, manual_mining):
    opened.ledger.commit(opened.brain, S[1], S[0])
    (slow,) = (record for record in opened.records() if record.intent.snapshot == S[1])
    fast = offer_more(opened.reopen(), opened.brain, S[1])
    manual_mining.mine()
    sent = opened.ledger._context.wait_until_included(slow)
    assert (sent.transaction, sent.status) == (fast.transaction, INCLUDED)


@pytest.fixture
def refused_replacement(opened, manual_mining):
    """A ledger whose node has a commitment of S[1] and refuses each higher offer for it.

    With the ledger come its node and the hash of the commitment.
    """
    config = opened.ledger.config
    with run_lying_node(manual_mining.url) as liar:
        ledger = open_patient_ledger(
            replace(config, urls=(liar.url,)), opened.folder, opened.key, patience=0.0
        )
        first = ledger.commit(opened.brain, S[1], S[0])
        raw = "0x" + opened.records()[-1].last_attempt.raw.hex()
        liar.refuse("eth_sendRawTransaction", "txpool is full", unless_first_param=[raw])
        with raises_code("refused", LedgerError) as raised:
            offer_more(ledger, opened.brain, S[1])
        assert "may still be included" in raised.value.hint
        yield ledger, liar, first.transaction


def test_a_commitment_whose_replacement_is_refused_stays_pending(
    refused_replacement, opened, manual_mining
):
    ledger, _, first = refused_replacement
    assert ledger.status(opened.brain, S[1]).status == PENDING
    assert error_code(ledger.commit, opened.brain, S[2], S[0]) == "pending"
    manual_mining.mine()
    made = ledger.status(opened.brain, S[1])
    assert (made.status, made.transaction) == (INCLUDED, first)
    assert opened.nonce() == 2


def test_a_commitment_whose_replacement_is_refused_is_sent_again_to_a_node_that_forgot_it(
    refused_replacement, opened, manual_mining
):
    ledger, _, first = refused_replacement
    manual_mining.drop(first)
    assert ledger.commit(opened.brain, S[1], S[0]).status == PENDING
    manual_mining.mine()
    assert ledger.status(opened.brain, S[1]).transaction == first
    assert opened.nonce() == 2


def test_a_commitment_of_which_all_nodes_refuse_every_offer_gives_its_nonce_to_the_next(
    refused_replacement, opened, manual_mining
):
    ledger, liar, first = refused_replacement
    manual_mining.drop(first)
    liar.refuse("eth_sendRawTransaction", "txpool is full")
    assert error_code(ledger.commit, opened.brain, S[1], S[0]) == "refused"
    assert error_code(ledger.status, opened.brain, S[1]) == "not_committed"
    liar.stop_lying()
    assert ledger.commit(opened.brain, S[2], S[0]).status == PENDING
    manual_mining.mine()
    assert [one.snapshot for one in ledger.history(opened.brain)] == [S[0], S[2]]
    assert opened.nonce() == 2


def test_a_base_fee_above_the_cap_is_refused_before_signing(registry, tmp_path):
    made = open_registry_ledger(registry, tmp_path, "thrifty", max_fee_gwei=2)
    registry.node.set_next_base_fee(3 * GWEI)
    registry.node.mine()
    assert error_code(made.open, word_of("dear"), S[0]) == "fee_cap"
    assert error_code(made.quote_open, word_of("dear"), S[0]) == "fee_cap"
    assert list(tmp_path.rglob("*.json")) == []
    registry.node.set_next_base_fee(GWEI)
    registry.node.mine()
    assert made.open(word_of("dear"), S[0]).status == INCLUDED


def test_a_replacement_stops_at_the_cap(registry, tmp_path, manual_mining):
    manual_mining.set_next_base_fee(GWEI)
    manual_mining.mine()
    made = open_registry_ledger(registry, tmp_path, "thrifty too", max_fee_gwei=4)
    made._context.patience = 0.0
    waits = made.open(word_of("capped"), S[0])
    manual_mining.set_next_base_fee(5 * GWEI)
    manual_mining.mine()
    assert error_code(made.open, word_of("capped"), S[0]) == "fee_cap"
    assert made.status(word_of("capped"), S[0]) == waits
    manual_mining.set_next_base_fee(GWEI)


def test_chain_07_a_transaction_that_another_program_replaced_is_told_as_that(
    opened, manual_mining
):
    own = opened.ledger.commit(opened.brain, S[1], S[0])
    fees = opened.records()[-1].last_attempt.fees
    foreign = UnsignedTransaction(
        chain_id=manual_mining.chain,
        nonce=1,
        to=opened.key.address,
        data=b"",
        gas=21_000,
        max_fee=fees.max_fee * 2,
        tip=fees.tip * 2,
    )
    manual_mining.call(
        "eth_sendRawTransaction", "0x" + opened.key.sign_transaction(foreign).raw.hex()
    )
    manual_mining.mine()
    result = opened.ledger.status(opened.brain, S[1])
    assert (result.status, result.transaction) == (REPLACED, own.transaction)
    assert opened.ledger.commit(opened.brain, S[1], S[0]).status == PENDING
    manual_mining.mine()
    assert opened.ledger.status(opened.brain, S[1]).status == INCLUDED
    assert opened.nonce() == 3


def test_chain_10_a_transaction_that_reverts_is_told_as_failed(
    opened, signer_ledger, manual_mining
):
    # The signer is faster than the owner, from the same parent.
    opened.ledger.commit(opened.brain, S[1], S[0])
    signer_ledger.commit(opened.brain, S[2], S[0])
    offer_more(signer_ledger, opened.brain, S[2])
    manual_mining.mine()
    assert opened.ledger.status(opened.brain, S[2]).sender == signer_ledger.sender
    assert opened.ledger.status(opened.brain, S[1]).status == FAILED
    assert error_code(opened.ledger.commit, opened.brain, S[1], S[0]) == "stale_parent"
    assert [one.snapshot for one in opened.ledger.history(opened.brain)] == [S[0], S[2]]


def test_a_commitment_that_can_only_fail_gives_its_nonce_to_the_next(overtaken, manual_mining):
    opened = overtaken
    assert opened.ledger.commit(opened.brain, S[3], S[2]).status == PENDING
    assert opened.records()[-1].nonce == 2
    manual_mining.mine()
    assert [one.snapshot for one in opened.ledger.history(opened.brain)] == [S[0], S[2], S[3]]
    assert error_code(opened.ledger.status, opened.brain, S[1]) == "not_committed"


def test_chain_01_a_reorganisation_takes_a_commitment_back_to_pending_and_it_heals(opened):
    made = opened.ledger.commit(opened.brain, S[1], S[0])
    assert made.status == INCLUDED
    opened.node.reorg(1)
    gone = opened.ledger.status(opened.brain, S[1])
    assert (gone.status, gone.transaction, gone.block) == (PENDING, made.transaction, None)
    healed = opened.reopen().commit(opened.brain, S[1], S[0])
    assert (healed.status, healed.transaction) == (INCLUDED, made.transaction)
    assert [one.snapshot for one in opened.ledger.history(opened.brain)] == S[:2]


def test_chain_01_a_reorganisation_that_keeps_a_commitment_shows_its_new_block(opened):
    opened.node.mine(2)
    made = opened.ledger.commit(opened.brain, S[1], S[0])
    raw = "0x" + opened.records()[-1].last_attempt.raw.hex()
    opened.node.mine(1)
    opened.node.reorg(2, [raw])
    moved = opened.ledger.status(opened.brain, S[1])
    assert (moved.transaction, moved.status) == (made.transaction, INCLUDED)
    assert moved.block_hash != made.block_hash


def test_a_brain_lost_in_a_reorganisation_is_opened_again(opened):
    opened.node.reorg(1)
    assert opened.ledger.head(opened.brain) is None
    assert opened.ledger.status(opened.brain, S[0]).status == PENDING
    assert opened.ledger.open(opened.brain, S[0]).status == INCLUDED


def test_what_is_final_is_put_aside(opened):
    opened.ledger.commit(opened.brain, S[1], S[0])
    opened.node.mine(FINAL_BLOCKS)
    opened.ledger.commit(opened.brain, S[2], S[1])
    assert [record.intent.snapshot for record in opened.records()] == [S[2]]
    assert len(list(opened.folder.rglob("done/*.json"))) == 2


def test_one_key_commits_for_many_brains_at_once(registry, tmp_path):
    key = funded_account(registry.node, "of many brains")
    config = ledger_config(registry.node, registry.address)
    brains = [word_of(f"one of many {n}") for n in range(6)]
    made = []

    def opening(brain: bytes) -> None:
        made.append(open_patient_ledger(config, tmp_path, key).open(brain, S[0]))

    threads = [threading.Thread(target=opening, args=[brain]) for brain in brains]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {one.brain for one in made} == set(brains)
    assert len({one.transaction for one in made}) == len(brains)


def test_the_journal_is_written_before_anything_is_sent_and_for_its_owner_alone(opened):
    opened.ledger.commit(opened.brain, S[1], S[0])
    for file in opened.folder.rglob("*"):
        assert file.stat().st_mode & 0o077 == 0, file
    text = "".join(file.read_text() for file in opened.folder.rglob("*.json"))
    assert bytes(opened.key._key.key).hex() not in text


def test_a_damaged_journal_is_told_and_nothing_is_sent(opened):
    file = next(opened.folder.rglob("open/*.json"))
    file.write_text("{")
    with raises_code("bad_journal", StoreError):
        opened.ledger.commit(opened.brain, S[1], S[0])
    assert opened.nonce() == 1


# A node that knows a nonce to be used before it can tell by which transaction.
BRAIN = word_of("a brain whose receipts are late")
ONE, TWO = word_of("one snapshot"), word_of("the next one")


def test_a_receipt_that_is_late_is_no_transaction_of_somebody_else(node, registry, tmp_path):
    late = [True]

    def withheld(answer: Any, params: list[Any]) -> Any:
        return None if late and late.pop() else answer

    with run_lying_node(node.url) as liar:
        config = ledger_config(node, registry.address, rpc=liar.url)
        ledger = open_patient_ledger(
            config, tmp_path, funded_account(node, "who waits for receipts")
        )
        ledger.open(BRAIN, ONE)
        liar.alter("eth_getTransactionReceipt", withheld)
        made = ledger.commit(BRAIN, TWO, ONE)
    assert (made.seq, made.snapshot) == (2, TWO)
