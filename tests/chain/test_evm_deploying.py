"""Deployment of the contract by the ledger, and a node that is stopped and started again."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from brain.chain import contracts
from brain.chain.evm import EvmLedger
from brain.chain.evm.deploying import PROXY
from brain.chain.protocol import FINALIZED, INCLUDED
from brain.errors import BrainError
from tests import anvil
from tests.anvil import Anvil
from tests.chain.evm import FINAL, account, configured, patient
from tests.chain.registry import word

BRAIN = word("a brain in a new contract")
S = [word(f"snapshot {n}") for n in range(3)]


@pytest.fixture
def fresh() -> Generator[Anvil]:
    """A node on which nothing was deployed."""
    with anvil.running() as node:
        yield node


def bare(node: Anvil, folder: Path, name: str = "deployer", **changes: Any) -> EvmLedger:
    return patient(configured(node, **changes), folder, account(node, name))


def fails(call: Any, *args: object) -> str:
    with pytest.raises(BrainError) as raised:
        call(*args)
    return raised.value.code


def test_the_contract_has_the_same_address_whoever_deploys_it(fresh: Anvil, tmp_path: Path) -> None:
    quote = bare(fresh, tmp_path).quote_deploy()
    made = bare(fresh, tmp_path).deploy()
    assert made.sent is not None
    assert (made.sent.status, made.since) == (INCLUDED, made.sent.block)
    assert made.sent.gas is not None
    assert made.sent.gas <= quote.gas
    assert fresh.call("eth_getCode", made.contract, "latest") == "0x" + contracts.runtime().hex()
    again = bare(fresh, tmp_path, "another deployer").deploy()
    assert (again.contract, again.sent) == (made.contract, None)
    with anvil.running() as other:
        assert bare(other, tmp_path, "another deployer").deploy().contract == made.contract


def test_where_there_is_no_proxy_it_is_deployed_the_plain_way(fresh: Anvil, tmp_path: Path) -> None:
    fresh.set_code(PROXY, b"")
    one, two = (bare(fresh, tmp_path, name).deploy() for name in ("one", "two"))
    assert one.contract != two.contract
    for made in (one, two):
        ledger = bare(fresh, tmp_path, contract=made.contract, since=made.since)
        assert ledger.open(BRAIN, S[0]).status == INCLUDED


def test_a_deployment_that_waits_is_not_sent_twice(fresh: Anvil, tmp_path: Path) -> None:
    fresh.automine(False)
    for _ in range(2):
        hasty = bare(fresh, tmp_path)
        hasty._patience = 0.0
        assert fails(hasty.deploy) == "pending"
    assert len(list(tmp_path.rglob("open/*.json"))) == 1
    fresh.mine()
    assert bare(fresh, tmp_path).deploy().sent is None


def test_a_proxy_that_makes_something_else_is_noticed(fresh: Anvil, tmp_path: Path) -> None:
    # It accepts the transaction and stores nothing.
    fresh.set_code(PROXY, bytes.fromhex("00"))
    assert fails(bare(fresh, tmp_path).deploy) == "reverted"


def test_a_node_that_is_stopped_and_started_again_has_it_all(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    with anvil.running("--state", state) as node:
        made = bare(node, tmp_path).deploy()
        config = configured(node, made.contract)
        key, port = account(node, "deployer"), node.port
        ledger = patient(config, tmp_path, key)
        ledger.open(BRAIN, S[0])
        node.mine(FINAL)
        before = ledger.status(BRAIN, S[0])
        assert before.status == FINALIZED
        node.automine(False)
        ledger._patience = 0.0
        waits = ledger.commit(BRAIN, S[1], S[0])
    with anvil.running("--state", state, port=port) as node:
        again = patient(config, tmp_path, key)
        assert again.status(BRAIN, S[0]) == before
        healed = again.commit(BRAIN, S[1], S[0])  # the mempool was lost
        assert (healed.status, healed.transaction) == (INCLUDED, waits.transaction)


def test_a_node_that_lost_its_state_is_of_another_chain(tmp_path: Path) -> None:
    with anvil.running() as node:
        made = bare(node, tmp_path).deploy()
        config, key, port = configured(node, made.contract), account(node, "deployer"), node.port
        patient(config, tmp_path, key).open(BRAIN, S[0])
        node.kill()
    with anvil.running("--timestamp", 1, port=port):
        assert fails(patient(config, tmp_path, key).head, BRAIN) == "wrong_chain"
