"""Transactions that survive: crashes, lost and stuck and replaced ones, reorganisations."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from brain.chain.evm import Account, EvmLedger, durable_files
from brain.chain.evm.account import UnsignedTransaction
from brain.chain.evm.journal import ABANDONED, TxJournal, TxRecord
from brain.chain.evm.node_quorum import NodeQuorum
from brain.chain.evm.tx_sender import STUCK_BLOCKS, TxSender
from brain.chain.ledger_protocol import FAILED, INCLUDED, PENDING, REPLACED
from brain.errors import BrainError, LedgerError, Locked, StoreError
from tests.support.anvil_node import Anvil
from tests.support.chain import killed_commits
from tests.support.chain.evm_ledgers import (
    FINAL_BLOCKS,
    funded_account,
    ledger_config,
    open_patient_ledger,
    open_registry_ledger,
)
from tests.support.chain.lying_node import LyingNode, run_lying_node
from tests.support.chain.registry_contract import RegistryContract, word_of
from tests.support.process_death import dies_before_call

S = [word_of(f"snapshot {n}") for n in range(6)]
GWEI = 10**9


class House(NamedTuple):
    """A ledger in which `brain` was opened, its key, and where it keeps what it sent."""

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

    def again(self) -> EvmLedger:
        """The same ledger as another process has it."""
        return open_patient_ledger(
            self.ledger.config, self.folder, self.key, patience=self.ledger._context.patience
        )


@pytest.fixture
def house(registry: RegistryContract, tmp_path: Path, request: pytest.FixtureRequest) -> House:
    node = registry.node
    key = funded_account(node, request.node.nodeid)
    brain = word_of(request.node.nodeid)
    made = open_patient_ledger(ledger_config(node, registry.address), tmp_path, key)
    made.open(brain, S[0])
    return House(made, key, tmp_path, brain, node)


@pytest.fixture
def by_hand(node: Anvil, house: House) -> Generator[Anvil]:
    """A node that mines when it is told to, for which nobody waits."""
    house.ledger._context.patience = 0.0
    node.set_automine(False)
    yield node
    node.mine()
    node.set_automine(True)


def fails(call: Any, *args: object) -> str:
    with pytest.raises(BrainError) as raised:
        call(*args)
    return raised.value.code


@pytest.mark.parametrize("moment", killed_commits.KILL_MOMENTS)
def test_a_crash_leaves_one_commitment_at_most_and_the_next_run_makes_it(
    moment: str, house: House, registry: RegistryContract
) -> None:
    killed_commits.commit_and_crash(
        moment, registry, house.ledger, house.key, house.folder, house.brain, *S[:2]
    )
    before = house.records()[-1]
    made = house.again().commit(house.brain, S[1], S[0])
    assert (made.seq, made.status) == (2, INCLUDED)
    assert [one.snapshot for one in house.ledger.history(house.brain)] == S[:2]
    assert house.nonce() == 2
    if moment != "before the journal":
        assert before.intent.snapshot == S[1]
        assert made.transaction == before.last_attempt.hash  # the same bytes


def test_after_a_crash_before_the_broadcast_the_commitment_is_pending(
    house: House, registry: RegistryContract
) -> None:
    moment = "between sign and broadcast"
    killed_commits.commit_and_crash(
        moment, registry, house.ledger, house.key, house.folder, house.brain, *S[:2]
    )
    told = house.again().status(house.brain, S[1])
    assert (told.status, told.seq, told.block) == (PENDING, 2, None)


def test_after_a_crash_another_brain_of_the_same_key_takes_the_next_nonce(
    house: House, registry: RegistryContract
) -> None:
    moment = "between sign and broadcast"
    killed_commits.commit_and_crash(
        moment, registry, house.ledger, house.key, house.folder, house.brain, *S[:2]
    )
    other = word_of("another brain of the same key")
    assert house.again().open(other, S[0]).seq == 1
    assert house.again().status(house.brain, S[1]).status == INCLUDED
    assert house.nonce() == 3


def test_kills_at_any_moment_leave_each_commitment_made_once(
    house: House, registry: RegistryContract
) -> None:
    chance = random.Random(8)
    snapshots = [S[0], *(word_of(f"killed {n}") for n in range(24))]
    for _ in range(4):
        killed_commits.commit_and_kill_after(
            chance.uniform(0, 0.4),
            *(registry, house.ledger, house.key, house.folder, house.brain, *snapshots),
        )
    head = house.ledger.head(house.brain)
    assert head is not None
    left = snapshots[snapshots.index(head.snapshot) :]
    for parent, snapshot in itertools.pairwise(left):
        house.again().commit(house.brain, snapshot, parent)
    assert [one.snapshot for one in house.ledger.history(house.brain)] == snapshots
    assert house.nonce() == len(snapshots)  # none was sent twice, none for nothing


def test_a_crash_before_a_replacement_is_broadcast_leaves_that_to_the_next_run(
    house: House, by_hand: Anvil
) -> None:
    slow = house.ledger.commit(house.brain, S[1], S[0])
    old = house.records()[-1].last_attempt.raw
    with dies_before_call(NodeQuorum, "broadcast", lambda quorum, raw: raw != old):
        house.ledger.speed_up(house.brain, S[1])
    fast = house.records()[-1].last_attempt.hash
    assert fast != slow.transaction
    assert house.again().commit(house.brain, S[1], S[0]).transaction == fast
    by_hand.mine()
    assert house.ledger.status(house.brain, S[1]).transaction == fast
    assert house.nonce() == 2


def test_a_crash_while_a_final_transaction_is_put_aside_loses_none(house: House) -> None:
    house.node.mine(FINAL_BLOCKS)
    with dies_before_call(durable_files, "move_durably"):
        house.ledger.commit(house.brain, S[1], S[0])
    assert [record.status for record in house.records()] == [INCLUDED]
    assert house.again().commit(house.brain, S[1], S[0]).seq == 2
    assert [record.intent.snapshot for record in house.records()] == [S[1]]
    assert len(list(house.folder.rglob("done/*.json"))) == 1


def test_a_crash_after_a_commitment_was_abandoned_leaves_its_nonce_to_the_next(
    house: House, registry: RegistryContract, by_hand: Anvil
) -> None:
    signer = funded_account(by_hand, "a signer before the crash")
    house.ledger.ownership.set_signer(house.brain, signer.address)
    by_hand.mine()
    lost = house.ledger.commit(house.brain, S[1], S[0])
    by_hand.drop(lost.transaction)
    config = ledger_config(by_hand, registry.address, creator=house.key.address)
    open_patient_ledger(config, house.folder / "signer", signer, patience=0.0).commit(
        house.brain, S[2], S[0]
    )
    by_hand.mine()
    with dies_before_call(TxSender, "send"):
        house.ledger.commit(house.brain, S[3], S[2])
    assert house.records()[-1].status == ABANDONED
    again = house.again()
    assert again.commit(house.brain, S[3], S[2]).status == PENDING
    assert house.records()[-1].nonce == 2
    by_hand.mine()
    assert again.status(house.brain, S[3]).status == INCLUDED


def test_who_waits_too_long_for_the_key_is_told(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("brain.chain.evm.journal.LOCK_WAIT_SECONDS", 0.01)
    (folder,) = house.folder.glob("chains/*/*")
    with TxJournal(folder).exclusive_lock(), pytest.raises(Locked) as raised:
        house.ledger.commit(house.brain, S[1], S[0])
    assert "key" in raised.value.message


def test_chain_08_a_transaction_that_a_node_forgot_is_sent_again_as_it_was(
    house: House, by_hand: Anvil
) -> None:
    first = house.ledger.commit(house.brain, S[1], S[0])
    by_hand.drop(first.transaction)
    assert house.ledger.status(house.brain, S[1]).status == PENDING
    second = house.again().commit(house.brain, S[1], S[0])
    assert second.transaction == first.transaction
    by_hand.mine()
    assert house.ledger.status(house.brain, S[1]).status == INCLUDED
    assert house.nonce() == 2


def test_chain_08_a_stuck_transaction_is_replaced_once_its_price_was_overtaken(
    house: House, by_hand: Anvil
) -> None:
    stuck = house.ledger.commit(house.brain, S[1], S[0])
    dear = house.records()[-1].last_attempt.fees.max_fee * 2
    by_hand.set_next_base_fee(dear)
    by_hand.mine()
    assert house.ledger.status(house.brain, S[1]).status == PENDING
    again = house.again().commit(house.brain, S[1], S[0])
    assert (again.status, again.transaction != stuck.transaction) == (PENDING, True)
    old, new = house.records()[-1].attempts
    assert new.fees.max_fee * 8 >= old.fees.max_fee * 9
    assert new.fees.tip * 8 >= old.fees.tip * 9
    assert new.data == old.data
    by_hand.mine()
    made = house.ledger.status(house.brain, S[1])
    assert (made.status, made.transaction) == (INCLUDED, again.transaction)
    assert house.nonce() == 2


def test_chain_08_more_is_offered_for_what_is_in_none_of_many_blocks(
    house: House, by_hand: Anvil
) -> None:
    slow = house.ledger.commit(house.brain, S[1], S[0])
    by_hand.drop(slow.transaction)
    by_hand.mine(STUCK_BLOCKS - 1)
    assert house.ledger.commit(house.brain, S[1], S[0]).transaction == slow.transaction
    by_hand.drop(slow.transaction)
    by_hand.mine(1)
    fast = house.ledger.commit(house.brain, S[1], S[0])
    assert fast.transaction != slow.transaction
    by_hand.mine()
    assert house.ledger.status(house.brain, S[1]).transaction == fast.transaction
    assert house.nonce() == 2


def test_more_can_be_offered_for_a_transaction_that_waits(house: House, by_hand: Anvil) -> None:
    slow = house.ledger.commit(house.brain, S[1], S[0])
    fast = house.ledger.speed_up(house.brain, S[1])
    assert fast.status == PENDING
    assert fast.transaction != slow.transaction
    by_hand.mine()
    assert house.ledger.status(house.brain, S[1]).transaction == fast.transaction
    assert fails(house.ledger.speed_up, house.brain, S[1]) == "not_pending"


@pytest.fixture
def refused_replacement(
    house: House, by_hand: Anvil
) -> Generator[tuple[EvmLedger, LyingNode, str]]:
    """A ledger whose node has a commitment of S[1] and refuses each higher offer for it.

    With the ledger come its node and the hash of the commitment.
    """
    config = house.ledger.config
    with run_lying_node(by_hand.url) as liar:
        ledger = open_patient_ledger(
            replace(config, urls=(liar.url,)), house.folder, house.key, patience=0.0
        )
        first = ledger.commit(house.brain, S[1], S[0])
        raw = "0x" + house.records()[-1].last_attempt.raw.hex()
        liar.refuse("eth_sendRawTransaction", "txpool is full", unless_first_param=[raw])
        with pytest.raises(LedgerError) as raised:
            ledger.speed_up(house.brain, S[1])
        assert raised.value.code == "refused"
        assert "may still be included" in raised.value.hint
        yield ledger, liar, first.transaction


def test_a_commitment_whose_replacement_is_refused_stays_pending(
    refused_replacement: tuple[EvmLedger, LyingNode, str], house: House, by_hand: Anvil
) -> None:
    ledger, _, first = refused_replacement
    assert ledger.status(house.brain, S[1]).status == PENDING
    assert fails(ledger.commit, house.brain, S[2], S[0]) == "pending"
    by_hand.mine()
    made = ledger.status(house.brain, S[1])
    assert (made.status, made.transaction) == (INCLUDED, first)
    assert house.nonce() == 2


def test_a_commitment_whose_replacement_is_refused_is_sent_again_to_a_node_that_forgot_it(
    refused_replacement: tuple[EvmLedger, LyingNode, str], house: House, by_hand: Anvil
) -> None:
    ledger, _, first = refused_replacement
    by_hand.drop(first)
    assert ledger.commit(house.brain, S[1], S[0]).status == PENDING
    by_hand.mine()
    assert ledger.status(house.brain, S[1]).transaction == first
    assert house.nonce() == 2


def test_a_commitment_of_which_all_nodes_refuse_every_offer_gives_its_nonce_to_the_next(
    refused_replacement: tuple[EvmLedger, LyingNode, str], house: House, by_hand: Anvil
) -> None:
    ledger, liar, first = refused_replacement
    by_hand.drop(first)
    liar.refuse("eth_sendRawTransaction", "txpool is full")
    assert fails(ledger.commit, house.brain, S[1], S[0]) == "refused"
    assert fails(ledger.status, house.brain, S[1]) == "not_committed"
    liar.stop_lying()
    assert ledger.commit(house.brain, S[2], S[0]).status == PENDING
    by_hand.mine()
    assert [one.snapshot for one in ledger.history(house.brain)] == [S[0], S[2]]
    assert house.nonce() == 2


def test_a_base_fee_above_the_cap_is_refused_before_signing(
    registry: RegistryContract, tmp_path: Path
) -> None:
    made = open_registry_ledger(registry, tmp_path, "thrifty", max_fee_gwei=2)
    registry.node.set_next_base_fee(3 * GWEI)
    registry.node.mine()
    assert fails(made.open, word_of("dear"), S[0]) == "fee_cap"
    assert fails(made.quote_open, word_of("dear"), S[0]) == "fee_cap"
    assert list(tmp_path.rglob("*.json")) == []
    registry.node.set_next_base_fee(GWEI)
    registry.node.mine()
    assert made.open(word_of("dear"), S[0]).status == INCLUDED


def test_a_replacement_stops_at_the_cap(
    registry: RegistryContract, tmp_path: Path, by_hand: Anvil
) -> None:
    by_hand.set_next_base_fee(GWEI)
    by_hand.mine()
    made = open_registry_ledger(registry, tmp_path, "thrifty too", max_fee_gwei=4)
    made._context.patience = 0.0
    waits = made.open(word_of("capped"), S[0])
    by_hand.set_next_base_fee(5 * GWEI)
    by_hand.mine()
    assert fails(made.open, word_of("capped"), S[0]) == "fee_cap"
    assert made.status(word_of("capped"), S[0]) == waits
    by_hand.set_next_base_fee(GWEI)


def test_chain_07_a_transaction_that_another_program_replaced_is_told_as_that(
    house: House, by_hand: Anvil
) -> None:
    mine = house.ledger.commit(house.brain, S[1], S[0])
    fees = house.records()[-1].last_attempt.fees
    foreign = UnsignedTransaction(
        chain_id=by_hand.chain,
        nonce=1,
        to=house.key.address,
        data=b"",
        gas=21_000,
        max_fee=fees.max_fee * 2,
        tip=fees.tip * 2,
    )
    by_hand.call("eth_sendRawTransaction", "0x" + house.key.sign_transaction(foreign).raw.hex())
    by_hand.mine()
    told = house.ledger.status(house.brain, S[1])
    assert (told.status, told.transaction) == (REPLACED, mine.transaction)
    assert house.ledger.commit(house.brain, S[1], S[0]).status == PENDING
    by_hand.mine()
    assert house.ledger.status(house.brain, S[1]).status == INCLUDED
    assert house.nonce() == 3


def test_chain_10_a_transaction_that_reverts_is_told_as_failed(
    house: House, registry: RegistryContract, by_hand: Anvil
) -> None:
    # The signer is faster than the owner, from the same parent.
    signer = funded_account(by_hand, "a fast signer")
    house.ledger.ownership.set_signer(house.brain, signer.address)
    by_hand.mine()
    config = ledger_config(by_hand, registry.address, creator=house.key.address)
    fast = open_patient_ledger(config, house.folder / "signer", signer, patience=0.0)
    house.ledger.commit(house.brain, S[1], S[0])
    fast.commit(house.brain, S[2], S[0])
    fast.speed_up(house.brain, S[2])
    by_hand.mine()
    assert house.ledger.status(house.brain, S[2]).sender == signer.address
    assert house.ledger.status(house.brain, S[1]).status == FAILED
    assert fails(house.ledger.commit, house.brain, S[1], S[0]) == "stale_parent"
    assert [one.snapshot for one in house.ledger.history(house.brain)] == [S[0], S[2]]


def test_a_commitment_that_can_only_fail_gives_its_nonce_to_the_next(
    house: House, registry: RegistryContract, by_hand: Anvil
) -> None:
    signer = funded_account(by_hand, "a signer in between")
    house.ledger.ownership.set_signer(house.brain, signer.address)
    by_hand.mine()
    lost = house.ledger.commit(house.brain, S[1], S[0])
    by_hand.drop(lost.transaction)
    config = ledger_config(by_hand, registry.address, creator=house.key.address)
    open_patient_ledger(config, house.folder / "signer", signer, patience=0.0).commit(
        house.brain, S[2], S[0]
    )
    by_hand.mine()
    assert house.ledger.commit(house.brain, S[3], S[2]).status == PENDING
    assert house.records()[-1].nonce == 2
    by_hand.mine()
    assert [one.snapshot for one in house.ledger.history(house.brain)] == [S[0], S[2], S[3]]
    assert fails(house.ledger.status, house.brain, S[1]) == "not_committed"


def test_chain_01_a_reorganisation_takes_a_commitment_back_to_pending_and_it_heals(
    house: House,
) -> None:
    made = house.ledger.commit(house.brain, S[1], S[0])
    assert made.status == INCLUDED
    house.node.reorg(1)
    gone = house.ledger.status(house.brain, S[1])
    assert (gone.status, gone.transaction, gone.block) == (PENDING, made.transaction, None)
    healed = house.again().commit(house.brain, S[1], S[0])
    assert (healed.status, healed.transaction) == (INCLUDED, made.transaction)
    assert [one.snapshot for one in house.ledger.history(house.brain)] == S[:2]


def test_chain_01_a_reorganisation_that_keeps_a_commitment_shows_its_new_block(
    house: House,
) -> None:
    house.node.mine(2)
    made = house.ledger.commit(house.brain, S[1], S[0])
    raw = "0x" + house.records()[-1].last_attempt.raw.hex()
    house.node.mine(1)
    house.node.reorg(2, [raw])
    moved = house.ledger.status(house.brain, S[1])
    assert (moved.transaction, moved.status) == (made.transaction, INCLUDED)
    assert moved.block_hash != made.block_hash


def test_a_brain_lost_in_a_reorganisation_is_opened_again(house: House) -> None:
    house.node.reorg(1)
    assert house.ledger.head(house.brain) is None
    assert house.ledger.status(house.brain, S[0]).status == PENDING
    assert house.ledger.open(house.brain, S[0]).status == INCLUDED


def test_what_is_final_is_put_aside(house: House) -> None:
    house.ledger.commit(house.brain, S[1], S[0])
    house.node.mine(FINAL_BLOCKS)
    house.ledger.commit(house.brain, S[2], S[1])
    assert [record.intent.snapshot for record in house.records()] == [S[2]]
    assert len(list(house.folder.rglob("done/*.json"))) == 2


def test_one_key_commits_for_many_brains_at_once(
    registry: RegistryContract, tmp_path: Path
) -> None:
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


def test_the_journal_is_written_before_anything_is_sent_and_for_its_owner_alone(
    house: House,
) -> None:
    house.ledger.commit(house.brain, S[1], S[0])
    for file in house.folder.rglob("*"):
        assert file.stat().st_mode & 0o077 == 0, file
    text = "".join(file.read_text() for file in house.folder.rglob("*.json"))
    assert bytes(house.key._key.key).hex() not in text


def test_a_damaged_journal_is_told_and_nothing_is_sent(house: House) -> None:
    file = next(house.folder.rglob("open/*.json"))
    file.write_text("{")
    with pytest.raises(StoreError) as raised:
        house.ledger.commit(house.brain, S[1], S[0])
    assert raised.value.code == "bad_journal"
    assert house.nonce() == 1
