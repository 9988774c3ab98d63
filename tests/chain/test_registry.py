"""Opening a brain and moving its head."""

from __future__ import annotations

import pytest
from eth_abi.abi import encode
from eth_utils.crypto import keccak

from brain.chain import contracts
from tests import anvil
from tests.chain.registry import NOBODY, ZERO, Event, Head, Registry, encoded, word

S = [word(f"snapshot {n}") for n in range(6)]


@pytest.fixture
def salt(request: pytest.FixtureRequest) -> bytes:
    """A brain of its own for each test."""
    return word(request.node.name)


@pytest.fixture
def owner(node: anvil.Anvil) -> str:
    return node.accounts[1]


@pytest.fixture
def other(node: anvil.Anvil) -> str:
    return node.accounts[2]


def test_opening_makes_the_first_commitment(registry: Registry, owner: str, salt: bytes) -> None:
    told = registry.send(owner, "open", salt, S[1])
    brain = keccak(encode(["address", "bytes32"], [owner, salt]))
    assert told == [
        Event("Opened", (brain, owner, salt)),
        Event("Committed", (brain, S[1], ZERO, 1)),
    ]
    assert registry.brain(brain) == Head(owner, 1, S[1], NOBODY)


def test_the_call_that_opens_returns_the_id(registry: Registry, owner: str, salt: bytes) -> None:
    (brain,) = registry.ask("open", salt, S[1], sender=owner)
    assert brain == registry.ask("idOf", owner, salt)[0]
    assert registry.opened(owner, salt, S[1]) == brain


def test_a_brain_never_opened_is_all_zero(registry: Registry, salt: bytes) -> None:
    assert registry.brain(salt) == Head(NOBODY, 0, ZERO, NOBODY)
    assert registry.ask("pendingOwner", salt) == (NOBODY,)


def test_a_brain_is_opened_once(registry: Registry, owner: str, salt: bytes) -> None:
    brain = registry.opened(owner, salt, S[1])
    assert registry.refuses(owner, "open", salt, S[2]) == ("Exists",)
    assert registry.brain(brain) == Head(owner, 1, S[1], NOBODY)


def test_a_brain_given_away_cannot_be_opened_again(
    registry: Registry, owner: str, other: str, salt: bytes
) -> None:
    brain = registry.opened(owner, salt, S[1])
    registry.send(owner, "offerOwnership", brain, other)
    registry.send(other, "acceptOwnership", brain)
    assert registry.refuses(owner, "open", salt, S[2]) == ("Exists",)


def test_nobody_can_take_the_id_of_another(
    registry: Registry, owner: str, other: str, salt: bytes
) -> None:
    theirs = registry.opened(other, salt, S[5])
    mine = registry.opened(owner, salt, S[1])
    assert mine != theirs
    assert registry.brain(theirs) == Head(other, 1, S[5], NOBODY)


def test_opening_with_no_snapshot_is_refused(registry: Registry, owner: str, salt: bytes) -> None:
    assert registry.refuses(owner, "open", salt, ZERO) == ("ZeroSnapshot",)


def test_commitments_are_counted_and_each_names_the_one_before(
    registry: Registry, owner: str, salt: bytes
) -> None:
    brain = registry.opened(owner, salt, S[1])
    for seq in range(2, 6):
        told = registry.send(owner, "commit", brain, S[seq], S[seq - 1])
        assert told == [Event("Committed", (brain, S[seq], S[seq - 1], seq))]
        assert registry.brain(brain) == Head(owner, seq, S[seq], NOBODY)


@pytest.mark.parametrize("parent", [S[1], S[5], ZERO], ids=["earlier", "unknown", "none"])
def test_a_parent_that_is_not_the_head_is_refused_and_the_head_named(
    registry: Registry, owner: str, salt: bytes, parent: bytes
) -> None:
    brain = registry.opened(owner, salt, S[1])
    registry.send(owner, "commit", brain, S[2], S[1])
    assert registry.refuses(owner, "commit", brain, S[3], parent) == ("StaleParent", S[2], 2)
    assert registry.brain(brain) == Head(owner, 2, S[2], NOBODY)


def test_of_two_commitments_in_one_block_after_one_parent_the_second_fails(
    registry: Registry, node: anvil.Anvil, owner: str, salt: bytes
) -> None:
    brain = registry.opened(owner, salt, S[1])
    node.automine(False)
    sent = [
        node.send(owner, registry.address, encoded("commit", brain, S[n], S[1]), gas=hex(100_000))
        for n in (2, 3)
    ]
    node.mine()
    node.automine(True)
    receipts = [node.receipt(transaction) or {} for transaction in sent]
    assert [receipt["status"] for receipt in receipts] == ["0x1", "0x0"]
    assert len({receipt["blockNumber"] for receipt in receipts}) == 1
    assert registry.brain(brain) == Head(owner, 2, S[2], NOBODY)


def test_committing_no_snapshot_is_refused(registry: Registry, owner: str, salt: bytes) -> None:
    brain = registry.opened(owner, salt, S[1])
    assert registry.refuses(owner, "commit", brain, ZERO, S[1]) == ("ZeroSnapshot",)


def test_a_stranger_moves_no_head(registry: Registry, other: str, owner: str, salt: bytes) -> None:
    brain = registry.opened(owner, salt, S[1])
    assert registry.refuses(other, "commit", brain, S[2], S[1]) == ("Unauthorized",)
    assert registry.brain(brain) == Head(owner, 1, S[1], NOBODY)


def test_a_brain_never_opened_takes_no_commitment(
    registry: Registry, owner: str, salt: bytes
) -> None:
    assert registry.refuses(owner, "commit", salt, S[1], ZERO) == ("Unauthorized",)


def test_one_brain_does_not_move_another(registry: Registry, owner: str, salt: bytes) -> None:
    one = registry.opened(owner, salt, S[1])
    two = registry.opened(owner, S[0], S[1])
    registry.send(owner, "commit", one, S[2], S[1])
    assert registry.brain(two) == Head(owner, 1, S[1], NOBODY)


def test_it_takes_no_money(registry: Registry, node: anvil.Anvil, owner: str) -> None:
    for data in (b"", encoded("anchor", S[1], 1)):
        receipt = node.transact(owner, registry.address, data, value="0x1", gas=hex(100_000))
        assert receipt["status"] == "0x0"


def test_an_unknown_function_is_refused(registry: Registry, node: anvil.Anvil, owner: str) -> None:
    receipt = node.transact(owner, registry.address, b"\x01\x02\x03\x04", gas=hex(100_000))
    assert receipt["status"] == "0x0"


def test_there_is_no_function_but_these() -> None:
    names = {entry["name"] for entry in contracts.abi() if entry["type"] == "function"}
    changing = "open commit commitFor setSigner offerOwnership acceptOwnership anchor"
    reading = "brain pendingOwner anchorOf idOf verifyInclusion"
    assert names == {*changing.split(), *reading.split()}
