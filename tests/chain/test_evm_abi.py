"""What is said to the contract and read from it, against its ABI and another codec."""

from __future__ import annotations

import eth_abi.abi
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.chain import contracts
from brain.chain.evm import abi
from brain.errors import BrainError, LedgerError
from tests.chain.registry import encoded, sign, topic, types

WORDS = st.binary(min_size=32, max_size=32)
ADDRESSES = st.binary(min_size=20, max_size=20).map(lambda raw: "0x" + raw.hex())
NUMBERS = st.integers(0, 2**64 - 1)

SELECTORS = {
    "open": abi.OPEN,
    "commit": abi.COMMIT,
    "commitFor": abi.COMMIT_FOR,
    "setSigner": abi.SET_SIGNER,
    "offerOwnership": abi.OFFER,
    "acceptOwnership": abi.ACCEPT,
    "anchor": abi.ANCHOR,
    "brain": abi.BRAIN,
    "anchorOf": abi.ANCHOR_OF,
    "StaleParent": abi.STALE_PARENT,
    "Unauthorized": abi.UNAUTHORIZED,
    "Exists": abi.EXISTS,
    "Expired": abi.EXPIRED,
}
BY_NAME = {entry["name"]: entry for entry in contracts.abi() if "name" in entry}


@pytest.mark.parametrize("name", SELECTORS)
def test_a_selector_is_that_of_the_artifact(name: str) -> None:
    assert SELECTORS[name] == sign(BY_NAME[name])


def test_the_topic_is_that_of_the_artifact() -> None:
    assert "0x" + topic(BY_NAME["Committed"]).hex() == abi.COMMITTED


@given(WORDS, WORDS, WORDS, ADDRESSES, NUMBERS, st.binary(max_size=200))
def test_calls_are_encoded_as_another_codec_does(
    id: bytes, one: bytes, two: bytes, who: str, number: int, signature: bytes
) -> None:
    assert abi.open_brain(id, one) == encoded("open", id, one)
    assert abi.commit(id, one, two) == encoded("commit", id, one, two)
    call = encoded("commitFor", id, one, two, number, signature)
    assert abi.commit_for(id, one, two, number, signature) == call
    assert abi.set_signer(id, who) == encoded("setSigner", id, who)
    assert abi.offer(id, who) == encoded("offerOwnership", id, who)
    assert abi.accept(id) == encoded("acceptOwnership", id)
    assert abi.anchor(one, number) == encoded("anchor", one, number)
    assert abi.brain(id) == encoded("brain", id)
    assert abi.anchor_of(who) == encoded("anchorOf", who)


@given(ADDRESSES.filter(lambda who: who != abi.NOBODY), NUMBERS.filter(bool), WORDS, ADDRESSES)
def test_the_state_of_a_brain_is_read_as_another_codec_writes_it(
    owner: str, seq: int, head: bytes, signer: str
) -> None:
    said = eth_abi.abi.encode(types(BY_NAME["brain"], "outputs"), (owner, seq, head, signer))
    nobody = "" if signer == abi.NOBODY else signer
    assert abi.state(said) == abi.State(owner, seq, head, nobody)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        bytes(96),
        bytes(160),
        b"\1" + bytes(127),
        bytes(32) + b"\1" + bytes(95),
        bytes(31) + b"\1" + bytes(96),
        bytes(63) + b"\1" + bytes(64),
    ],
    ids=["nothing", "short", "long", "long owner", "long seq", "owner of none", "seq of nobody"],
)
def test_a_state_that_cannot_be_is_refused(said: bytes) -> None:
    with pytest.raises(LedgerError) as raised:
        abi.state(said)
    assert raised.value.code == "bad_rpc"


def test_a_brain_never_opened_is_none() -> None:
    assert abi.state(bytes(128)) is None


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
def test_a_revert_is_told_as_what_it_means(
    name: str, values: tuple[object, ...], code: str
) -> None:
    entry = BY_NAME[name]
    error: BrainError = abi.reverted(sign(entry) + eth_abi.abi.encode(types(entry), values), "")
    assert error.code == code


def test_a_stale_parent_names_the_head_and_its_number() -> None:
    error = abi.reverted(abi.STALE_PARENT + b"\7" * 32 + (3).to_bytes(32), "")
    assert "070707070707" in error.message
    assert "3" in error.message
    assert "merge" in error.hint
