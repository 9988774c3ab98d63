"""Accounts, words of storage, and what BrainRegistry keeps in them."""

from __future__ import annotations

import pytest
import rlp

from brain.chain.evidence import registry
from brain.chain.evidence.account import account, word
from brain.errors import ProofError
from tests.chain.tries import Trie, keccak
from tests.chain.world import CONTRACT, OWNER, SIGNER, World, brain, many, number

NAME = bytes(20)


def code_of(value: bytes) -> str:
    """Return why the value of an account is refused."""
    trie = Trie({NAME: value, b"other": b"else"})
    with pytest.raises(ProofError) as caught:
        account(trie.root, NAME, trie.proof(NAME))
    return caught.value.code


def test_an_account_is_read() -> None:
    world = World(many())
    found = account(world.accounts.root, CONTRACT, world.accounts.proof(CONTRACT))
    assert (found.nonce, found.balance) == (1, 10**18 + 1)
    assert (found.storage_root, found.code_hash) == (world.slots.root, world.code)


def test_an_absent_account_is_no_account() -> None:
    trie = World(many()).accounts
    with pytest.raises(ProofError) as caught:
        account(trie.root, NAME, trie.proof(NAME))
    assert caught.value.code == "no_account"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ([b"", b"", bytes(32)], "bad_account"),
        ([b"", b"", bytes(32), bytes(32), b""], "bad_account"),
        ([b"\0", b"", bytes(32), bytes(32)], "bad_rlp"),
        ([b"\1" * 9, b"", bytes(32), bytes(32)], "bad_rlp"),
        ([b"", b"\1" * 33, bytes(32), bytes(32)], "bad_rlp"),
        ([b"", b"", bytes(31), bytes(32)], "bad_rlp"),
        ([b"", b"", bytes(32), b""], "bad_rlp"),
        ([b"", [], bytes(32), bytes(32)], "bad_rlp"),
        (b"account", "bad_rlp"),
    ],
)
def test_what_is_no_account_is_refused(fields: object, code: str) -> None:
    assert code_of(rlp.encode(fields)) == code


@pytest.mark.parametrize("value", [0, 1, 127, 128, 1 << 255, (1 << 256) - 1])
def test_a_word_is_read_and_an_unset_one_is_zero(value: int) -> None:
    slot, other = keccak(b"slot"), keccak(b"other")
    values = {slot: value, other: 5}
    trie = Trie({name: rlp.encode(number(one)) for name, one in values.items() if one})
    assert word(trie.root, slot, trie.proof(slot)) == value.to_bytes(32, "big")


@pytest.mark.parametrize("stored", ["00", "8200ff", "a1" + "01" * 33, "c101", "810101", ""])
def test_what_is_no_word_is_refused(stored: str) -> None:
    slot = keccak(b"slot")
    trie = Trie({slot: bytes.fromhex(stored) or b"\xff", keccak(b"other"): b"\1"})
    with pytest.raises(ProofError):
        word(trie.root, slot, trie.proof(slot))


def test_slots_are_those_of_solidity() -> None:
    salt = keccak(b"salt")
    id = registry.brain_id(OWNER, salt)
    assert id == keccak(bytes(12) + OWNER + salt)
    first = int.from_bytes(keccak(id + bytes(32)), "big")
    assert registry.brain_slots(id) == [(first + n).to_bytes(32, "big") for n in range(3)]
    assert registry.anchor_slot(OWNER) == keccak(bytes(12) + OWNER + bytes(31) + b"\1")


def test_words_are_taken_apart_as_they_are_packed() -> None:
    stored = brain(OWNER, bytes(32), keccak(b"head"), 7, signer=SIGNER)
    words = [value.to_bytes(32, "big") for value in stored.values()]
    assert registry.head(words) == (OWNER, 7, keccak(b"head"), SIGNER)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, 0),
        (0, int.from_bytes(OWNER, "big")),
        (0, 1 << 160),
        (0, int.from_bytes(OWNER, "big") | 1 << 224),
        (2, 1 << 160),
    ],
)
def test_words_that_are_no_head_are_refused(place: int, value: int) -> None:
    stored = list(brain(OWNER, bytes(32), keccak(b"head"), 7).values())
    stored[place] = value
    with pytest.raises(ProofError) as caught:
        registry.head([one.to_bytes(32, "big") for one in stored])
    assert caught.value.code == "no_head"


def test_a_zero_that_is_stored_is_a_zero() -> None:
    slot = keccak(b"slot")
    trie = Trie({slot: rlp.encode(b""), keccak(b"other"): b"\1"})
    assert word(trie.root, slot, trie.proof(slot)) == bytes(32)
