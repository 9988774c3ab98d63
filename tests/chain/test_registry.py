"""Opening a brain and moving its head."""

import pytest
from eth_abi.abi import encode
from eth_utils.crypto import keccak

from brain.chain import contracts
from tests.support.chain.registry_contract import (
    ZERO_ADDRESS,
    ZERO_WORD,
    BrainHead,
    ContractEvent,
    encode_call,
    word_of,
)

S = [word_of(f"snapshot {n}") for n in range(6)]
LATER = 2**40


@pytest.fixture
def salt(request):
    """A brain of its own for each test."""
    return word_of(request.node.name)


@pytest.fixture
def owner(node):
    return node.accounts[1]


@pytest.fixture
def other(node):
    return node.accounts[2]


def test_opening_makes_the_first_commitment(registry, owner, salt):
    result = registry.send(owner, "open", salt, S[1])
    brain = keccak(encode(["address", "bytes32"], [owner, salt]))
    assert result == [
        ContractEvent("Opened", (brain, owner, salt)),
        ContractEvent("Committed", (brain, S[1], ZERO_WORD, 1, owner)),
    ]
    assert registry.brain(brain) == BrainHead(owner, 1, S[1], ZERO_ADDRESS)


def test_the_call_that_opens_returns_the_id(registry, owner, salt):
    (brain,) = registry.call("open", salt, S[1], sender=owner)
    assert brain == registry.call("idOf", owner, salt)[0]
    assert registry.open_brain(owner, salt, S[1]) == brain


def test_a_brain_never_opened_is_all_zero(registry, salt):
    assert registry.brain(salt) == BrainHead(ZERO_ADDRESS, 0, ZERO_WORD, ZERO_ADDRESS)
    assert registry.call("offerOf", salt) == (ZERO_ADDRESS, 0)


def test_a_brain_is_opened_once(registry, owner, salt):
    brain = registry.open_brain(owner, salt, S[1])
    assert registry.send_and_expect_revert(owner, "open", salt, S[2]) == ("Exists",)
    assert registry.brain(brain) == BrainHead(owner, 1, S[1], ZERO_ADDRESS)


def test_a_brain_given_away_cannot_be_opened_again(registry, owner, other, salt):
    brain = registry.open_brain(owner, salt, S[1])
    registry.send(owner, "offerOwnership", brain, other, LATER)
    registry.send(other, "acceptOwnership", brain)
    assert registry.send_and_expect_revert(owner, "open", salt, S[2]) == ("Exists",)


def test_nobody_can_take_the_id_of_another(registry, owner, other, salt):
    theirs = registry.open_brain(other, salt, S[5])
    own = registry.open_brain(owner, salt, S[1])
    assert own != theirs
    assert registry.brain(theirs) == BrainHead(other, 1, S[5], ZERO_ADDRESS)


def test_opening_with_no_snapshot_is_refused(registry, owner, salt):
    assert registry.send_and_expect_revert(owner, "open", salt, ZERO_WORD) == ("ZeroSnapshot",)


def test_commitments_are_counted_and_each_names_the_one_before(registry, owner, salt):
    brain = registry.open_brain(owner, salt, S[1])
    for seq in range(2, 6):
        result = registry.send(owner, "commit", brain, S[seq], S[seq - 1])
        assert result == [ContractEvent("Committed", (brain, S[seq], S[seq - 1], seq, owner))]
        assert registry.brain(brain) == BrainHead(owner, seq, S[seq], ZERO_ADDRESS)


@pytest.mark.parametrize("parent", [S[1], S[5], ZERO_WORD], ids=["earlier", "unknown", "none"])
def test_a_parent_that_is_not_the_head_is_refused_and_the_head_named(registry, owner, salt, parent):
    brain = registry.open_brain(owner, salt, S[1])
    registry.send(owner, "commit", brain, S[2], S[1])
    assert registry.send_and_expect_revert(owner, "commit", brain, S[3], parent) == (
        "StaleParent",
        S[2],
        2,
    )
    assert registry.brain(brain) == BrainHead(owner, 2, S[2], ZERO_ADDRESS)


def test_of_two_commitments_in_one_block_after_one_parent_the_second_fails(
    registry, node, owner, salt
):
    brain = registry.open_brain(owner, salt, S[1])
    node.set_automine(False)
    sent = [
        node.send(
            owner, registry.address, encode_call("commit", brain, S[n], S[1]), gas=hex(100_000)
        )
        for n in (2, 3)
    ]
    node.mine()
    node.set_automine(True)
    receipts = [node.receipt(transaction) or {} for transaction in sent]
    assert [receipt["status"] for receipt in receipts] == ["0x1", "0x0"]
    assert len({receipt["blockNumber"] for receipt in receipts}) == 1
    assert registry.brain(brain) == BrainHead(owner, 2, S[2], ZERO_ADDRESS)


def test_committing_no_snapshot_is_refused(registry, owner, salt):
    brain = registry.open_brain(owner, salt, S[1])
    assert registry.send_and_expect_revert(owner, "commit", brain, ZERO_WORD, S[1]) == (
        "ZeroSnapshot",
    )


def test_a_stranger_moves_no_head(registry, other, owner, salt):
    brain = registry.open_brain(owner, salt, S[1])
    assert registry.send_and_expect_revert(other, "commit", brain, S[2], S[1]) == ("Unauthorized",)
    assert registry.brain(brain) == BrainHead(owner, 1, S[1], ZERO_ADDRESS)


def test_a_brain_never_opened_takes_no_commitment(registry, owner, salt):
    assert registry.send_and_expect_revert(owner, "commit", salt, S[1], ZERO_WORD) == (
        "Unauthorized",
    )


def test_one_brain_does_not_move_another(registry, owner, salt):
    one = registry.open_brain(owner, salt, S[1])
    two = registry.open_brain(owner, S[0], S[1])
    registry.send(owner, "commit", one, S[2], S[1])
    assert registry.brain(two) == BrainHead(owner, 1, S[1], ZERO_ADDRESS)


def test_it_takes_no_money(registry, node, owner):
    for data in (b"", encode_call("anchor", S[1], S[2])):
        receipt = node.transact(owner, registry.address, data, value="0x1", gas=hex(100_000))
        assert receipt["status"] == "0x0"


def test_an_unknown_function_is_refused(registry, node, owner):
    receipt = node.transact(owner, registry.address, b"\x01\x02\x03\x04", gas=hex(100_000))
    assert receipt["status"] == "0x0"


def test_there_is_no_function_but_these():
    names = {
        entry["name"] for entry in contracts.load_artifact()["abi"] if entry["type"] == "function"
    }
    changing = (
        "open openFor commit commitFor supersede setSigner setSignerFor offerOwnership"
        " acceptOwnership anchor"
    )
    reading = "brain offerOf disownedBy anchorOf idOf eip712Domain verifyInclusion checkpointHash"
    assert names == {*changing.split(), *reading.split()}
