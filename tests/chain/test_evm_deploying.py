"""Deployment of the contract by the ledger, and a node that is stopped and started again."""

from pathlib import Path
from typing import Any

import pytest

from brain.chain import contracts
from brain.chain.evm import EvmLedger
from brain.chain.evm.deployment import CREATE2_PROXY
from brain.chain.ledger_protocol import FINALIZED, INCLUDED
from tests.support import anvil_node
from tests.support.anvil_node import Anvil
from tests.support.chain.evm_ledgers import (
    FINAL_BLOCKS,
    funded_account,
    ledger_config,
    open_patient_ledger,
)
from tests.support.chain.lying_node import run_lying_node
from tests.support.chain.registry_contract import word_of
from tests.support.error_codes import error_code

BRAIN = word_of("a brain in a new contract")
S = [word_of(f"snapshot {n}") for n in range(3)]


@pytest.fixture
def fresh():
    """A node on which nothing was deployed."""
    with anvil_node.run_anvil() as node:
        yield node


def bare(node: Anvil, folder: Path, name: str = "deployer", **changes: Any) -> EvmLedger:
    return open_patient_ledger(ledger_config(node, **changes), folder, funded_account(node, name))


def test_the_contract_has_the_same_address_whoever_deploys_it(fresh, tmp_path):
    quote = bare(fresh, tmp_path).deployment.quote_deploy()
    made = bare(fresh, tmp_path).deployment.deploy()
    assert made.sent is not None
    assert (made.sent.status, made.since) == (INCLUDED, made.sent.block)
    assert made.sent.gas is not None
    assert made.sent.gas <= quote.gas
    assert (
        fresh.call("eth_getCode", made.contract, "latest") == "0x" + contracts.runtime_code().hex()
    )
    again = bare(fresh, tmp_path, "another deployer").deployment.deploy()
    assert (again.contract, again.sent) == (made.contract, None)
    with anvil_node.run_anvil() as other:
        assert (
            bare(other, tmp_path, "another deployer").deployment.deploy().contract == made.contract
        )


def test_where_there_is_no_proxy_it_is_deployed_the_plain_way(fresh, tmp_path):
    fresh.set_code(CREATE2_PROXY, b"")
    one, two = (bare(fresh, tmp_path, name).deployment.deploy() for name in ("one", "two"))
    assert one.contract != two.contract
    for made in (one, two):
        ledger = bare(fresh, tmp_path, contract=made.contract, since=made.since)
        assert ledger.open(BRAIN, S[0]).status == INCLUDED


def test_a_deployment_that_waits_is_not_sent_twice(fresh, tmp_path):
    fresh.set_automine(False)
    for _ in range(2):
        hasty = bare(fresh, tmp_path)
        hasty._context.patience = 0.0
        assert error_code(hasty.deployment.deploy) == "pending"
    assert len(list(tmp_path.rglob("open/*.json"))) == 1
    fresh.mine()
    assert bare(fresh, tmp_path).deployment.deploy().sent is None


def test_a_proxy_that_makes_something_else_is_noticed(fresh, tmp_path):
    # It accepts the transaction and stores nothing.
    fresh.set_code(CREATE2_PROXY, bytes.fromhex("00"))
    assert error_code(bare(fresh, tmp_path).deployment.deploy) == "reverted"


def test_a_node_that_is_stopped_and_started_again_has_it_all(tmp_path):
    state = tmp_path / "state.json"
    with anvil_node.run_anvil("--state", state, port=anvil_node.port_to_reuse()) as node:
        made = bare(node, tmp_path).deployment.deploy()
        config = ledger_config(node, made.contract)
        key, port = funded_account(node, "deployer"), node.port
        ledger = open_patient_ledger(config, tmp_path, key)
        ledger.open(BRAIN, S[0])
        node.mine(FINAL_BLOCKS)
        before = ledger.status(BRAIN, S[0])
        assert before.status == FINALIZED
        node.set_automine(False)
        ledger._context.patience = 0.0
        waits = ledger.commit(BRAIN, S[1], S[0])
    with anvil_node.run_anvil("--state", state, port=port) as node:
        again = open_patient_ledger(config, tmp_path, key)
        assert again.status(BRAIN, S[0]) == before
        healed = again.commit(BRAIN, S[1], S[0])  # the mempool was lost
        assert (healed.status, healed.transaction) == (INCLUDED, waits.transaction)


def test_a_node_that_lost_its_state_is_of_another_chain(tmp_path):
    with anvil_node.run_anvil(port=anvil_node.port_to_reuse()) as node:
        made = bare(node, tmp_path).deployment.deploy()
        config, key, port = (
            ledger_config(node, made.contract),
            funded_account(node, "deployer"),
            node.port,
        )
        open_patient_ledger(config, tmp_path, key).open(BRAIN, S[0])
        node.kill()
    with anvil_node.run_anvil("--timestamp", 1, port=port):
        assert error_code(open_patient_ledger(config, tmp_path, key).head, BRAIN) == "wrong_chain"


def test_the_creation_block_of_a_contract_that_was_there_is_found(fresh, tmp_path):
    fresh.mine(37)
    made = bare(fresh, tmp_path).deployment.deploy()
    fresh.mine(200)
    again = bare(fresh, tmp_path, "another deployer").deployment.deploy()
    assert (again.since, again.sent) == (made.since, None)
    named = bare(fresh, tmp_path, "reader", contract=made.contract)
    assert named.deployment.find_creation_block() == made.since
    nowhere = bare(fresh, tmp_path, "reader", contract="0x" + "12" * 20)
    assert nowhere.deployment.find_creation_block() == 0


@pytest.mark.parametrize(("kept_blocks", "known"), [(250, True), (100, False)])
def test_a_node_without_old_states_tells_the_creation_block_if_it_is_recent(
    kept_blocks, known, fresh, tmp_path
):
    fresh.mine(150)
    made = bare(fresh, tmp_path).deployment.deploy()
    fresh.mine(200)
    with run_lying_node(fresh.url) as liar:
        oldest = fresh.block_number() - kept_blocks

        def prune(code: str, params: list[Any]) -> str | None:
            number = params[1]
            return None if isinstance(number, str) and int(number, 16) < oldest else code

        liar.alter("eth_getCode", prune)
        reader = bare(fresh, tmp_path, "reader", contract=made.contract, rpc=liar.url)
        assert reader.deployment.find_creation_block() == (made.since if known else 0)
        told = bare(fresh, tmp_path, "reader", contract=made.contract, rpc=liar.url, since=7)
        assert told.deployment.find_creation_block() == (made.since if known else 7)
