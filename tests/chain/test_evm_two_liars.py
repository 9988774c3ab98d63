"""Two lying nodes of five, while two honest ones are left out because they were slow."""

from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest

from brain.chain.evm import EvmLedger
from brain.chain.evm.nodes import NodeQuorum
from tests.support.chain.evm_ledgers import funded_account, ledger_config, open_patient_ledger
from tests.support.chain.lying_node import LyingNode, run_lying_node
from tests.support.chain.registry_contract import word_of

BRAIN = word_of("a brain among two liars")
S = [word_of(f"snapshot {n}") for n in range(2)]


class Majority(NamedTuple):
    """Five nodes of which three have to agree, and a ledger and a quorum that read them."""

    liars: list[LyingNode]
    ledger: EvmLedger
    nodes: NodeQuorum


@pytest.fixture
def majority(node, registry, tmp_path):
    """The last two of the five hung at first, so they are left out."""
    with ExitStack() as stack:
        liars = [stack.enter_context(run_lying_node(node.url)) for _ in range(5)]
        config = ledger_config(node, registry.address, rpc=[liar.url for liar in liars], quorum=3)
        made = open_patient_ledger(config, tmp_path, funded_account(node, tmp_path.name))
        nodes = NodeQuorum(config)
        for slow in liars[3:]:
            slow.hang()
        made.open(BRAIN, S[0])
        nodes.latest_view()
        for slow in liars[3:]:
            slow.stop_lying()
        yield Majority(liars, made, nodes)


def dear(block: dict[str, Any], params: list[Any]) -> dict[str, Any]:
    return block | {"baseFeePerGas": hex(10**12)}


def far_ahead(block: dict[str, Any], params: list[Any]) -> dict[str, Any]:
    return dear(block, params) | ({"number": hex(2**60)} if params[0] == "latest" else {})


def nothing(result: Any, params: list[Any]) -> None:
    return None


@pytest.mark.parametrize("lie", [dear, far_ahead, nothing])
def test_two_liars_about_blocks_do_not_win(lie, majority):
    for liar in majority.liars[:2]:
        liar.alter("eth_getBlockByNumber", lie)
    assert majority.ledger.commit(BRAIN, S[1], S[0]).seq == 2


def test_two_liars_about_an_old_block_do_not_win(majority):
    latest = majority.nodes.latest_view().block
    for liar in majority.liars[:2]:
        liar.alter("eth_getBlockByNumber", dear)
    found = majority.nodes.view_at_number(latest.number)
    assert found is not None
    assert found.block == latest


def test_two_liars_that_refuse_an_estimate_do_not_win(majority):
    for liar in majority.liars[:2]:
        liar.refuse("eth_estimateGas", "execution reverted")
    assert majority.ledger.commit(BRAIN, S[1], S[0]).seq == 2
