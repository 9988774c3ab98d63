"""The storage is part of the interface: evidence is proven against these slots."""

from __future__ import annotations

import pytest
from eth_utils.crypto import keccak

from tests.support import anvil_node
from tests.support.chain import contract_compiler
from tests.support.chain.registry_contract import RegistryContract, word_of


def storage(registry: RegistryContract, slot: int) -> int:
    return int(registry.node.call("eth_getStorageAt", registry.address, hex(slot), "latest"), 16)


def base(key: bytes, mapping: int) -> int:
    return int.from_bytes(keccak(key.rjust(32, b"\0") + mapping.to_bytes(32)))


def test_a_brain_is_four_words_in_the_mapping_at_slot_0(
    registry: RegistryContract, node: anvil_node.Anvil
) -> None:
    owner, signer, later = node.accounts[1:4]
    brain = registry.open_brain(owner, word_of("salt"), word_of("first"))
    registry.send(owner, "setSigner", brain, signer)
    registry.send(owner, "offerOwnership", brain, later)
    for seq, (snapshot, parent) in enumerate([("second", "first"), ("third", "second")], 2):
        registry.send(owner, "commit", brain, word_of(snapshot), word_of(parent))
        words = [storage(registry, base(brain, 0) + n) for n in range(5)]
        assert words == [
            seq << 160 | int(owner, 16),
            int.from_bytes(word_of(snapshot)),
            int(signer, 16),
            int(later, 16),
            0,
        ]


def test_an_anchor_is_a_word_in_the_mapping_at_slot_1(
    registry: RegistryContract, node: anvil_node.Anvil
) -> None:
    account = node.accounts[5]
    registry.send(account, "anchor", word_of("root"), 7)
    assert storage(registry, base(bytes.fromhex(account[2:]), 1)) == int.from_bytes(word_of("root"))


@pytest.mark.parametrize("slot", range(8))
def test_there_is_nothing_beside_the_mappings(registry: RegistryContract, slot: int) -> None:
    assert storage(registry, slot) == 0


def test_the_compiler_knows_of_no_other_variable() -> None:
    source = (contract_compiler.CONTRACTS_FOLDER / contract_compiler.SOURCE_NAME).read_text("utf-8")
    built = contract_compiler.compile_contract(contract_compiler.SOURCE_NAME, source)[
        "BrainRegistry"
    ]
    layout = built["storageLayout"]
    variables = [(each["label"], each["slot"], each["offset"]) for each in layout["storage"]]
    assert variables == [("_brains", "0", 0), ("_anchors", "1", 0)]
    (brain,) = [each for each in layout["types"].values() if each["label"].startswith("struct")]
    members = [(each["label"], each["slot"], each["offset"]) for each in brain["members"]]
    assert members == [
        ("owner", "0", 0),
        ("seq", "0", 20),
        ("head", "1", 0),
        ("signer", "2", 0),
        ("pending", "3", 0),
    ]
