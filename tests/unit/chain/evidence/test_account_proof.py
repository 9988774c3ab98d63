"""Accounts, words of storage, and the state of BrainRegistry in them."""

import pytest
import rlp

from brain.chain.evidence import offline_check
from brain.chain.evidence.state_proof import read_account, read_storage_word
from brain.errors import ProofError
from tests.support.chain.merkle_patricia import Trie, keccak
from tests.support.chain.synthetic_chain import (
    CONTRACT_ADDRESS,
    OWNER_ADDRESS,
    SIGNER_ADDRESS,
    ChainState,
    brain_slots,
    encode_number,
    other_slots,
)
from tests.support.error_codes import error_code
from tests.support.refusals import raises_code

NAME = bytes(20)


def code_of(value: bytes) -> str:
    """Return why the value of an account is refused."""
    trie = Trie({NAME: value, b"other": b"else"})
    return error_code(read_account, trie.root, NAME, trie.proof(NAME), kind=ProofError)


def test_an_account_is_read():
    world = ChainState(other_slots())
    result = read_account(
        world.account_trie.root, CONTRACT_ADDRESS, world.account_trie.proof(CONTRACT_ADDRESS)
    )
    assert (result.nonce, result.balance) == (1, 10**18 + 1)
    assert (result.storage_root, result.code_hash) == (world.storage_trie.root, world.code)


def test_an_absent_account_is_no_account():
    trie = ChainState(other_slots()).account_trie
    with raises_code("no_account", ProofError):
        read_account(trie.root, NAME, trie.proof(NAME))


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
def test_what_is_no_account_is_refused(fields, code):
    assert code_of(rlp.encode(fields)) == code


@pytest.mark.parametrize("value", [0, 1, 127, 128, 1 << 255, (1 << 256) - 1])
def test_a_word_is_read_and_an_unset_one_is_zero(value):
    slot, other = keccak(b"slot"), keccak(b"other")
    values = {slot: value, other: 5}
    trie = Trie({name: rlp.encode(encode_number(one)) for name, one in values.items() if one})
    assert read_storage_word(trie.root, slot, trie.proof(slot)) == value.to_bytes(32, "big")


@pytest.mark.parametrize("stored", ["00", "8200ff", "a1" + "01" * 33, "c101", "810101", ""])
def test_what_is_no_word_is_refused(stored):
    slot = keccak(b"slot")
    trie = Trie({slot: bytes.fromhex(stored) or b"\xff", keccak(b"other"): b"\1"})
    with pytest.raises(ProofError):
        read_storage_word(trie.root, slot, trie.proof(slot))


def test_slots_are_those_of_solidity():
    salt = keccak(b"salt")
    id = offline_check.brain_id(OWNER_ADDRESS, salt)
    assert id == keccak(bytes(12) + OWNER_ADDRESS + salt)
    first = int.from_bytes(keccak(id + bytes(32)), "big")
    assert offline_check.brain_slots(id) == [(first + n).to_bytes(32, "big") for n in range(3)]
    logs = keccak(bytes(12) + OWNER_ADDRESS + bytes(31) + b"\1")
    assert offline_check.anchor_slot(OWNER_ADDRESS, salt) == keccak(salt + logs)


def test_words_are_taken_apart_as_they_are_packed():
    head = keccak(b"head")
    stored = brain_slots(
        OWNER_ADDRESS, bytes(32), head, 7, epoch=5, repairs=3, signer=SIGNER_ADDRESS
    )
    words = [value.to_bytes(32, "big") for value in stored.values()]
    assert offline_check.decode_head(words) == (OWNER_ADDRESS, 7, head, SIGNER_ADDRESS, 5, 3)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, 0),
        (0, int.from_bytes(OWNER_ADDRESS, "big")),
        (0, 1 << 160),
        (0, int.from_bytes(OWNER_ADDRESS, "big") | 1 << 224),
        (2, 1 << 224),
    ],
)
def test_words_that_are_no_head_are_refused(place, value):
    stored = list(brain_slots(OWNER_ADDRESS, bytes(32), keccak(b"head"), 7).values())
    stored[place] = value
    with raises_code("no_head", ProofError):
        offline_check.decode_head([one.to_bytes(32, "big") for one in stored])


def test_a_zero_that_is_stored_is_a_zero():
    slot = keccak(b"slot")
    trie = Trie({slot: rlp.encode(b""), keccak(b"other"): b"\1"})
    assert read_storage_word(trie.root, slot, trie.proof(slot)) == bytes(32)
