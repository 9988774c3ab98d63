"""What is said to the contract and read from it, against its ABI and another codec."""

import eth_abi.abi
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.chain import contracts
from brain.chain.evm import abi
from brain.chain.ledger_protocol import LedgerHead
from brain.errors import BrainError, LedgerError
from tests.support.chain.registry_contract import (
    abi_types,
    encode_call,
    event_topic,
    function_selector,
)
from tests.support.refusals import raises_code

WORDS = st.binary(min_size=32, max_size=32)
ADDRESSES = st.binary(min_size=20, max_size=20).map(lambda raw: "0x" + raw.hex())
NUMBERS = st.integers(0, 2**64 - 1)

SELECTORS = {
    "open": abi.OPEN_SELECTOR,
    "commit": abi.COMMIT_SELECTOR,
    "setSigner": abi.SET_SIGNER_SELECTOR,
    "offerOf": abi.OFFER_OF_SELECTOR,
    "offerOwnership": abi.OFFER_SELECTOR,
    "acceptOwnership": abi.ACCEPT_SELECTOR,
    "supersede": abi.SUPERSEDE_SELECTOR,
    "anchor": abi.ANCHOR_SELECTOR,
    "brain": abi.BRAIN_SELECTOR,
    "anchorOf": abi.ANCHOR_OF_SELECTOR,
    "disownedBy": abi.DISOWNED_BY_SELECTOR,
    "StaleParent": abi.STALE_PARENT_SELECTOR,
    "Unauthorized": abi.UNAUTHORIZED_SELECTOR,
    "Exists": abi.EXISTS_SELECTOR,
    "Expired": abi.EXPIRED_SELECTOR,
}
BY_NAME = {entry["name"]: entry for entry in contracts.load_artifact()["abi"] if "name" in entry}


@pytest.mark.parametrize("name", SELECTORS)
def test_a_selector_is_that_of_the_artifact(name):
    assert SELECTORS[name] == function_selector(BY_NAME[name])


def test_the_topic_is_that_of_the_artifact():
    assert "0x" + event_topic(BY_NAME["Committed"]).hex() == abi.COMMITTED_TOPIC
    assert "0x" + event_topic(BY_NAME["Anchored"]).hex() == abi.ANCHORED_TOPIC


@given(WORDS, WORDS, WORDS, ADDRESSES, NUMBERS)
def test_calls_are_encoded_as_another_codec_does(id, one, two, who, number):
    assert abi.encode_call(abi.OPEN_SELECTOR, id, one) == encode_call("open", id, one)
    assert abi.encode_call(abi.COMMIT_SELECTOR, id, one, two) == encode_call("commit", id, one, two)
    assert abi.encode_call(abi.SET_SIGNER_SELECTOR, id, who) == encode_call("setSigner", id, who)
    offer = encode_call("offerOwnership", id, who, number)
    assert abi.encode_call(abi.OFFER_SELECTOR, id, who, number) == offer
    assert abi.encode_call(abi.ACCEPT_SELECTOR, id) == encode_call("acceptOwnership", id)
    assert abi.encode_call(abi.ANCHOR_SELECTOR, one, two) == encode_call("anchor", one, two)
    repair = abi.encode_call(abi.SUPERSEDE_SELECTOR, id, one, two, number)
    assert repair == encode_call("supersede", id, one, two, number)
    assert abi.encode_call(abi.BRAIN_SELECTOR, id) == encode_call("brain", id)
    assert abi.encode_call(abi.ANCHOR_OF_SELECTOR, who, one) == encode_call("anchorOf", who, one)


@given(
    ADDRESSES.filter(lambda who: who != abi.ZERO_ADDRESS),
    NUMBERS.filter(bool),
    WORDS,
    ADDRESSES,
    NUMBERS,
    st.integers(0, 2**32 - 1),
)
def test_the_state_of_a_brain_is_read_as_another_codec_writes_it(
    owner, seq, head, signer, epoch, repairs
):
    values = (owner, seq, head, signer, epoch, repairs)
    answer = eth_abi.abi.encode(abi_types(BY_NAME["brain"], "outputs"), values)
    nobody = "" if signer == abi.ZERO_ADDRESS else signer
    assert abi.decode_state(answer) == LedgerHead(seq, head, owner, nobody, epoch, repairs)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        bytes(160),
        bytes(224),
        b"\1" + bytes(191),
        bytes(32) + b"\1" + bytes(159),
        bytes(31) + b"\1" + bytes(160),
        bytes(63) + b"\1" + bytes(128),
        bytes(128) + b"\1" + bytes(63),
        bytes(187) + b"\1" + bytes(4),
    ],
    ids=[
        "nothing",
        "short",
        "long",
        "long owner",
        "long seq",
        "owner of none",
        "seq of nobody",
        "long epoch",
        "long repairs",
    ],
)
def test_a_state_that_cannot_be_is_refused(answer):
    with raises_code("bad_rpc", LedgerError):
        abi.decode_state(answer)


def test_a_brain_never_opened_is_none():
    assert abi.decode_state(bytes(192)) is None


@pytest.mark.parametrize(
    ("name", "values", "code"),
    [
        ("StaleParent", (b"\7" * 32, 3), "stale_parent"),
        ("Unauthorized", (), "unauthorized"),
        ("Exists", (), "already_open"),
        ("Expired", (), "expired"),
        ("ZeroSnapshot", (), "reverted"),
    ],
)
def test_a_revert_is_told_as_what_it_means(name, values, code):
    entry = BY_NAME[name]
    error: BrainError = abi.revert_error(
        function_selector(entry) + eth_abi.abi.encode(abi_types(entry), values), ""
    )
    assert error.code == code


def test_a_stale_parent_names_the_head_and_its_number():
    error = abi.revert_error(abi.STALE_PARENT_SELECTOR + b"\7" * 32 + (3).to_bytes(32), "")
    assert "070707070707" in error.message
    assert "3" in error.message
    assert "merge" in error.hint
