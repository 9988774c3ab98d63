"""The storage is part of the interface: evidence is proven against these slots."""

import pytest
from eth_utils.crypto import keccak

from tests.support.chain import contract_compiler, gas_costs
from tests.support.chain.registry_contract import RegistryContract, word_of


def storage(registry: RegistryContract, slot: int) -> int:
    return int(registry.node.call("eth_getStorageAt", registry.address, hex(slot), "latest"), 16)


def base(key: bytes, mapping: int) -> int:
    return int.from_bytes(keccak(key.rjust(32, b"\0") + mapping.to_bytes(32)))


def test_a_brain_is_four_words_in_the_mapping_at_slot_0(registry, node):
    owner, signer, later = node.accounts[1:4]
    brain = registry.open_brain(owner, word_of("salt"), word_of("first"))
    registry.send(owner, "setSigner", brain, signer)
    registry.send(owner, "setSigner", brain, signer)
    registry.send(owner, "offerOwnership", brain, later, 2**40)
    for seq, (snapshot, parent) in enumerate([("second", "first"), ("third", "second")], 2):
        registry.send(owner, "commit", brain, word_of(snapshot), word_of(parent))
        words = [storage(registry, base(brain, 0) + n) for n in range(5)]
        assert words == [
            seq << 160 | int(owner, 16),
            int.from_bytes(word_of(snapshot)),
            2 << 160 | int(signer, 16),
            2**40 << 160 | int(later, 16),
            0,
        ]
    registry.send(owner, "supersede", brain, word_of("fourth"), word_of("third"), 3)
    assert storage(registry, base(brain, 0)) == 1 << 224 | 4 << 160 | int(owner, 16)
    assert storage(registry, base(brain, 0) + 2) == 3 << 160


def nested(outer: bytes, inner: bytes, mapping: int) -> int:
    return int.from_bytes(keccak(inner.rjust(32, b"\0") + base(outer, mapping).to_bytes(32)))


def test_an_anchor_is_a_word_in_the_mapping_of_logs_at_slot_1(registry, node):
    account, checkpoint = node.accounts[5], word_of("checkpoint")
    registry.send(account, "anchor", word_of("log"), checkpoint)
    slot = nested(bytes.fromhex(account[2:]), word_of("log"), 1)
    assert storage(registry, slot) == int.from_bytes(checkpoint)


def test_a_disowning_is_a_word_in_the_mapping_at_slot_2(registry, node):
    owner = node.accounts[6]
    brain = registry.open_brain(owner, word_of("salt"), word_of("first"))
    registry.send(owner, "commit", brain, word_of("second"), word_of("first"))
    registry.send(owner, "supersede", brain, word_of("third"), word_of("second"), 2)
    assert storage(registry, nested(brain, bytes([3]), 2)) == 2


@pytest.mark.parametrize("slot", range(8))
def test_there_is_nothing_beside_the_mappings(registry, slot):
    assert storage(registry, slot) == 0


def test_the_compiler_knows_of_no_other_variable():
    source = (contract_compiler.CONTRACTS_FOLDER / contract_compiler.SOURCE_NAME).read_text("utf-8")
    built = contract_compiler.compile_contract(contract_compiler.SOURCE_NAME, source)[
        "BrainRegistry"
    ]
    layout = built["storageLayout"]
    variables = [(each["label"], each["slot"], each["offset"]) for each in layout["storage"]]
    assert variables == [("_brains", "0", 0), ("_anchors", "1", 0), ("_disowned", "2", 0)]
    (brain,) = [each for each in layout["types"].values() if each["label"].startswith("struct")]
    members = [(each["label"], each["slot"], each["offset"]) for each in brain["members"]]
    assert members == [
        ("owner", "0", 0),
        ("seq", "0", 20),
        ("repairs", "0", 28),
        ("head", "1", 0),
        ("signer", "2", 0),
        ("epoch", "2", 20),
        ("offeredTo", "3", 0),
        ("offerEnds", "3", 20),
    ]


# What the contract costs, against what it should cost at most.
@pytest.fixture(scope="module")
def rows():
    return gas_costs.measure_on_new_node()


@pytest.fixture(scope="module")
def costs(rows):
    return dict(rows)


def test_an_update_is_near_what_any_update_must_cost(costs):
    assert costs["`commit` by the owner"] <= min(36_000, 1.25 * gas_costs.MIN_GAS)


def test_an_update_by_the_signer_costs_one_more_cold_slot(costs):
    extra = costs["`commit` by the signer"] - costs["`commit` by the owner"]
    assert 2_100 <= extra <= 2_150


def test_opening_costs_three_fresh_words_and_little_else(costs):
    assert costs["`open`"] <= 75_000


def test_a_brain_in_a_batch_of_a_thousand_costs_next_to_nothing(costs):
    assert costs["– per brain, 1,000 in a batch"] <= 30


def test_the_documentation_shows_what_is_measured(rows):
    page = gas_costs.COSTS_PAGE.read_text("utf-8")
    assert gas_costs.replace_table(page, gas_costs.format_table(rows)) == page
    costs = dict(rows)
    opening, update = (
        gas_costs.format_gas(costs[what]) for what in ("`open`", "`commit` by the owner")
    )
    assert f"| BrainRegistry | {opening} | {update} |" in page
