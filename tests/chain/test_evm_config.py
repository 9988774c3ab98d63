"""What is taken as the configuration of a ledger on a chain."""

from typing import Any

import pytest

from brain.chain.evm import EvmLedgerConfig
from brain.chain.evm.evm_config import config_to_mapping, parse_config
from brain.chain.evm.rpc import RpcNode, url_host
from brain.errors import InvalidInput, LedgerError
from tests.support.chain.lying_node import run_lying_node
from tests.support.refusals import raises_code

GENESIS = "0x" + "ab" * 32
CONTRACT = "0x" + "CD" * 20
GOOD: dict[str, Any] = {"chain_id": 1, "genesis": GENESIS, "rpc": "https://one.example/key"}
BAD = {
    "no chain id": {"chain_id": None},
    "a chain id of 0": {"chain_id": 0},
    "a chain id in words": {"chain_id": "1"},
    "a chain id that is a truth value": {"chain_id": True},
    "no genesis": {"genesis": ""},
    "a genesis that YAML took for a number": {"genesis": int(GENESIS, 16)},
    "a short genesis": {"genesis": GENESIS[:-2]},
    "no node": {"rpc": []},
    "a node that is none": {"rpc": "file:///etc/passwd"},
    "a node without a host": {"rpc": "http://"},
    "a node with a space": {"rpc": "http://one.example/ key"},
    "a node with a port that is none": {"rpc": "http://one.example:99999"},
    "a node that is a number": {"rpc": [8545]},
    "a node twice": {"rpc": ["http://one.example", "http://one.example"]},
    "too many nodes": {"rpc": [f"http://n{n}.example" for n in range(17)]},
    "a quorum of none": {"quorum": 0},
    "a quorum of more than there are": {"quorum": 2},
    "a contract that is none": {"contract": "0x1234"},
    "latest as final": {"finality": "latest"},
    "no confirmations": {"finality": 0},
    "a truth value as finality": {"finality": True},
    "a price below nothing": {"max_fee_gwei": -1},
    "a price of nothing": {"max_fee_gwei": 0},
    "a price in too many decimals": {"max_fee_gwei": "0.0000000001"},
    "a price that is not a number": {"max_fee_gwei": "nan"},
    "a cost of nothing": {"max_cost_wei": 0},
    "a cost that is a fraction": {"max_cost_wei": 1.5},
    "a creator that is none": {"creator": "me"},
    "a start before the first block": {"since": -1},
    "an unknown field": {"chainid": 1},
}


@pytest.mark.parametrize("what", BAD)
def test_a_ledger_is_refused_with(what):
    with raises_code("bad_ledger", InvalidInput):
        parse_config("main", GOOD | BAD[what])


@pytest.mark.parametrize("name", ["", "Main", "a b", "-a", "../a", "a" * 65])
def test_a_ledger_is_refused_by_its_name(name):
    with raises_code("bad_ledger", InvalidInput):
        parse_config(name, GOOD)


def test_what_is_not_said_has_a_careful_default():
    config = parse_config("main", GOOD)
    assert config == EvmLedgerConfig(
        name="main", chain_id=1, genesis=GENESIS, urls=("https://one.example/key",), quorum=1
    )
    assert config.finality == "finalized"
    assert config.identity == ""
    assert (config.max_fee, config.max_cost) == (100 * 10**9, 2 * 10**16)


@pytest.mark.parametrize(
    ("chain", "gwei"), [(1, 100), (8453, 1), (42161, 5), (137, 2000), (987654, 100)]
)
def test_caps_are_in_the_scale_of_the_chain_unless_said_otherwise(chain, gwei):
    on_chain = GOOD | {"chain_id": chain}
    config = parse_config("main", on_chain)
    assert (config.max_fee, config.max_cost) == (gwei * 10**9, 200_000 * gwei * 10**9)
    assert parse_config("main", on_chain | {"max_fee_gwei": 7}).max_fee == 7 * 10**9
    assert parse_config("main", on_chain | {"max_fee_gwei": 7}).max_cost == 1_400_000 * 10**9
    assert parse_config("main", on_chain | {"max_cost_wei": 5}).max_cost == 5


@pytest.mark.parametrize(("nodes", "quorum"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_the_majority_of_nodes_has_to_agree_unless_said_otherwise(nodes, quorum):
    urls = [f"http://n{n}.example" for n in range(nodes)]
    assert parse_config("main", GOOD | {"rpc": urls}).quorum == quorum


@pytest.mark.parametrize("gwei", [1, 0.1, 2.5, "0.000000001", 123456])
def test_a_ledger_is_read_back_as_it_was_written(gwei):
    answer = GOOD | {
        "contract": CONTRACT,
        "finality": 12,
        "max_fee_gwei": gwei,
        "creator": CONTRACT,
        "since": 5,
    }
    config = parse_config("main", answer)
    assert parse_config("main", config_to_mapping(config)) == config
    assert config.contract == CONTRACT.lower()
    assert config.identity == f"eip155:1:{CONTRACT.lower()}"


def test_of_a_url_only_the_host_is_ever_shown():
    assert url_host("https://user:secret@one.example:8545/v3/secret") == "one.example:8545"


# What a node says of the address it is asked at: providers put keys into addresses.
KEY = "9aa3d95b3bc440fa88ea12eaa4456161"


@pytest.mark.parametrize(
    "words",
    [
        "no project at {url}",
        "POST /v3/{key}: over its limit",
        "{key} is unknown, and so is \u202e{key}",
        "x" * 190 + "{key}",
    ],
)
def test_an_error_never_repeats_the_key_that_a_node_echoes(words):
    with run_lying_node("http://127.0.0.1:1") as liar:
        url = f"{liar.url}/v3/{KEY}"
        liar.refuse("eth_chainId", words.format(url=url, key=KEY))
        with pytest.raises(LedgerError) as caught:
            RpcNode(url).call("eth_chainId")
    assert KEY[:8] not in f"{caught.value.message} {caught.value.hint}"
    assert "refuses eth_chainId" in caught.value.message
    assert caught.value.message.isprintable()


def test_an_error_of_a_node_that_is_not_there_names_its_host_alone():
    with pytest.raises(LedgerError) as caught:
        RpcNode(f"http://127.0.0.1:1/v3/{KEY}").call("eth_chainId")
    assert KEY not in f"{caught.value.message} {caught.value.hint}"
