"""What was final on a chain is noted in the brain, so that any copy of it notices a rollback."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from brain import Brain
from brain.chain.evm import Account, EvmLedger
from brain.chain.ledger_protocol import FINALIZED, INCLUDED
from brain.errors import VerificationFailed
from brain.repo.ledgers import seen
from tests.support.anvil_node import run_anvil
from tests.support.chain.evm_ledgers import funded_account, ledger_config, open_patient_ledger
from tests.support.chain.registry_contract import RegistryContract

FINALITY = 2
GENESIS_TIME = 1_800_000_000


@pytest.fixture
def brain(tmp_path):
    with Brain.init(tmp_path / "agent", name="agent", author="tester") as made:
        made.skills.upsert("A", "One.\n")
        yield made


@pytest.fixture
def key(registry, request):
    return funded_account(registry.node, request.node.nodeid)


def open_ledger(registry: RegistryContract, folder: Path, key: Account) -> EvmLedger:
    """Return the ledger as a machine opens it whose files about the chain are in `folder`."""
    config = ledger_config(registry.node, registry.address, finality=FINALITY)
    return open_patient_ledger(config, folder, key)


def commit_change(brain: Brain, ledger: EvmLedger, text: str) -> None:
    brain.skills.upsert("A", text)
    brain.ledger.commit(ledger)


@contextmanager
def copied_brain(brain: Brain, folder: Path) -> Iterator[Brain]:
    shutil.copytree(brain.root, folder)
    with Brain.open(folder, author="other") as copy:
        yield copy


def list_final(brain: Brain) -> list[tuple[int, bytes]]:
    heads = seen.read_final_heads(brain._session.store)
    return [(head.seq, head.snapshot) for head in heads.values()]


def refusals(brain: Brain, ledger: EvmLedger) -> dict[str, str]:
    """Return the code with which each read of a ledger fails."""
    reads: dict[str, Callable[[EvmLedger], object]] = {
        "status": brain.ledger.status,
        "commit": brain.ledger.commit,
        "open": brain.ledger.open,
        "evidence": brain.ledger.build_evidence,
        "supersede": brain.ledger.plan_repair,
    }
    codes = {}
    for name, read in reads.items():
        with pytest.raises(VerificationFailed) as raised:
            read(ledger)
        codes[name] = raised.value.code
    errors = [each for each in brain.ledger.verify([ledger]).findings if each.severity == "error"]
    return codes | {"verify": errors[0].code}


READS = ("status", "commit", "open", "evidence", "supersede", "verify")
ALARM = dict.fromkeys(READS, "rolled_back")


def test_a_copy_on_a_fresh_machine_notices_that_a_chain_takes_back_what_was_final(
    brain, registry, key, tmp_path
):
    ledger = open_ledger(registry, tmp_path / "ledgers", key)
    brain.ledger.open(ledger)
    state = registry.node.snapshot()
    commit_change(brain, ledger, "Two.\n")
    registry.node.mine(FINALITY)
    status = brain.ledger.status(ledger)
    assert (status.status, list_final(brain)) == (
        FINALIZED,
        [(2, bytes.fromhex(status.snapshot or ""))],
    )
    registry.node.revert(state)
    with copied_brain(brain, tmp_path / "copy") as copy:
        assert refusals(copy, open_ledger(registry, tmp_path / "fresh", key)) == ALARM


def test_another_commitment_in_the_place_of_a_final_one_is_a_rollback(
    brain, registry, key, tmp_path
):
    ledger = open_ledger(registry, tmp_path / "ledgers", key)
    opened = brain.ledger.open(ledger)
    brain_id, first = bytes.fromhex(brain.id), bytes.fromhex(opened.snapshot)
    state = registry.node.snapshot()
    commit_change(brain, ledger, "Two.\n")
    registry.node.mine(FINALITY)
    brain.ledger.status(ledger)
    registry.node.revert(state)
    fresh = open_ledger(registry, tmp_path / "fresh", key)
    fresh.commit(brain_id, b"\x07" * 32, first)
    with copied_brain(brain, tmp_path / "copy") as copy:
        assert refusals(copy, fresh) == ALARM
        fresh.commit(brain_id, b"\x08" * 32, b"\x07" * 32)
        with pytest.raises(VerificationFailed, match="has another commitment 2"):
            copy.ledger.status(fresh)


def test_a_node_with_the_same_first_block_and_fewer_blocks_is_a_rollback(brain, tmp_path):
    with (
        run_anvil("--timestamp", GENESIS_TIME) as whole,
        run_anvil("--timestamp", GENESIS_TIME) as short,
    ):
        ledgers, registries = [], []
        for node in (whole, short):
            registries.append(RegistryContract(node))
            key = funded_account(node, "owner of both")
            ledgers.append(open_ledger(registries[-1], tmp_path / f"ledgers{node.port}", key))
        assert ledgers[0].entry_name(b"\x01" * 32) == ledgers[1].entry_name(b"\x01" * 32)
        for ledger in ledgers:
            brain_id, snapshot = bytes.fromhex(brain.id), bytes.fromhex(brain.head)
            ledger.open(brain_id, snapshot)
        commit_change(brain, ledgers[0], "Two.\n")
        whole.mine(FINALITY)
        assert brain.ledger.status(ledgers[0]).status == FINALIZED
        with copied_brain(brain, tmp_path / "copy") as copy:
            assert refusals(copy, ledgers[1]) == ALARM
            assert copy.ledger.status(ledgers[0]).seq == 2


def test_a_commitment_that_is_not_final_is_not_noted_and_may_be_taken_back(
    brain, registry, key, tmp_path
):
    ledger = open_ledger(registry, tmp_path / "ledgers", key)
    brain.ledger.open(ledger)
    registry.node.mine(FINALITY)
    brain.ledger.status(ledger)
    state = registry.node.snapshot()
    commit_change(brain, ledger, "Two.\n")
    status = brain.ledger.status(ledger)
    assert (status.seq, status.status) == (2, INCLUDED)
    assert [seq for seq, _ in list_final(brain)] == [1]
    registry.node.revert(state)
    with copied_brain(brain, tmp_path / "copy") as copy:
        fresh = open_ledger(registry, tmp_path / "fresh", key)
        assert copy.ledger.status(fresh).seq == 1
        assert copy.ledger.commit(fresh).seq == 2


def test_a_commitment_notes_that_the_one_before_it_is_final(brain, registry, key, tmp_path):
    ledger = open_ledger(registry, tmp_path / "ledgers", key)
    opened = brain.ledger.open(ledger)
    registry.node.mine(FINALITY)
    assert list_final(brain) == []
    commit_change(brain, ledger, "Two.\n")
    assert list_final(brain) == [(1, bytes.fromhex(opened.snapshot))]


def test_a_copy_of_another_account_has_another_entry(brain, registry, key, tmp_path):
    ledger = open_ledger(registry, tmp_path / "ledgers", key)
    brain.ledger.open(ledger)
    commit_change(brain, ledger, "Two.\n")
    registry.node.mine(FINALITY)
    brain.ledger.status(ledger)
    other = open_ledger(registry, tmp_path / "other", funded_account(registry.node, "another"))
    assert brain.ledger.open(other).seq == 1
    registry.node.mine(FINALITY)
    assert brain.ledger.status(other).seq == 1
    assert sorted(seq for seq, _ in list_final(brain)) == [1, 2]


def test_what_the_owner_disowned_stays_noted_and_the_lineage_goes_on(
    brain, registry, key, tmp_path
):
    ledger = open_ledger(registry, tmp_path / "ledgers", key)
    opened = brain.ledger.open(ledger)
    thief = open_ledger(registry, tmp_path / "thief", key)
    thief.commit(bytes.fromhex(brain.id), b"\x07" * 32, bytes.fromhex(opened.snapshot))
    registry.node.mine(FINALITY)
    brain.ledger.status(ledger)
    assert list_final(brain) == [(2, b"\x07" * 32)]
    state = registry.node.snapshot()
    brain.skills.upsert("A", "Two.\n")
    with copied_brain(brain, tmp_path / "copy") as copy:
        fresh = open_ledger(registry, tmp_path / "fresh", key)
        repaired = copy.ledger.supersede(fresh, copy.ledger.plan_repair(fresh)).commitment
        assert repaired is not None and repaired.seq == 3
        registry.node.mine(FINALITY)
        assert [each.disowned_by for each in copy.ledger.status(fresh).commitments] == [
            None,
            3,
            None,
        ]
        commit_change(copy, fresh, "Three.\n")
        assert copy.ledger.verify([fresh]).ok
        assert list_final(copy) == [(3, bytes.fromhex(repaired.snapshot))]
        registry.node.revert(state)
        assert refusals(copy, open_ledger(registry, tmp_path / "third", key)) == ALARM


def test_a_final_commitment_of_a_snapshot_that_is_not_here_does_not_stop_a_collection(
    brain, registry, key, tmp_path
):
    ledger = open_ledger(registry, tmp_path / "ledgers", key)
    opened = brain.ledger.open(ledger)
    ledger.commit(bytes.fromhex(brain.id), b"\x07" * 32, bytes.fromhex(opened.snapshot))
    registry.node.mine(FINALITY)
    brain.ledger.status(ledger)
    assert list_final(brain) == [(2, b"\x07" * 32)]
    brain.gc()
    assert brain.verify().ok
