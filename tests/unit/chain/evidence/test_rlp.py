"""RLP: each value has one encoding, and no other is accepted."""

from typing import Any

import pytest
import rlp as oracle
from Crypto.Hash import keccak
from hypothesis import example, given
from hypothesis import strategies as st

from brain.chain.evidence import state_proof
from brain.chain.evidence import state_proof as ours
from brain.chain.evidence.state_proof import hash_ahead, keccak256
from brain.errors import ProofError
from tests.support.refusals import raises_code

VALUES = st.recursive(st.binary(max_size=70), lambda one: st.lists(one, max_size=5), max_leaves=20)


def depth(value: Any) -> int:
    return 0 if isinstance(value, bytes) else 1 + max(map(depth, value), default=0)


@given(VALUES)
@example(b"\x7f")
@example(b"\x80")
@example(bytes(55))
@example(bytes(56))
@example(bytes(256))
@example([bytes(54)])
@example([bytes(55)])
@example([[[], b""], []])
def test_what_is_written_is_read_and_is_what_another_implementation_writes(value):
    data = state_proof.encode_rlp(value)
    assert data == oracle.encode(value)
    if depth(value) <= state_proof.MAX_LIST_DEPTH:
        assert state_proof.decode_rlp(data) == value


@given(st.binary(max_size=80))
def test_what_is_read_is_the_one_encoding_of_it(data):
    try:
        value = state_proof.decode_rlp(data)
    except ProofError as error:
        assert error.code == "bad_rlp"
    else:
        assert oracle.encode(value) == data


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("", "missing"),
        ("8100", "single byte"),
        ("817f", "single byte"),
        ("b800", "shortest"),
        ("b837" + "00" * 55, "shortest"),
        ("b90038" + "00" * 56, "shortest"),
        ("f800", "shortest"),
        ("f7", "cut short"),
        ("f90001c0", "shortest"),
        ("b8", "shortest"),
        ("bf" + "ff" * 8, "cut short"),
        ("ff" + "ff" * 8, "cut short"),
        ("82aa", "cut short"),
        ("c2c1", "cut short"),
        ("c1c180", "cut short"),
        ("c281", "cut short"),
        ("8080", "follow"),
        ("c000", "follow"),
        ("c1" * 9 + "c0", "cut short"),
        ("c9c8c7c6c5c4c3c2c1c0", "too deeply"),
    ],
)
def test_any_other_encoding_is_refused(data, why):
    with raises_code("bad_rlp", ProofError, match=why):
        state_proof.decode_rlp(bytes.fromhex(data))


def test_depth_and_size_are_limited_without_recursion_that_fails():
    with pytest.raises(ProofError):
        state_proof.decode_rlp(b"\xc1" * 100_000)
    with pytest.raises(ProofError):
        state_proof.decode_rlp(b"\xf9\xff\xff" * 20_000)


@pytest.mark.parametrize("item", [b"\0", b"\0\1", bytes(9), b"\1" * 9, [], [b""]])
def test_a_number_has_no_zeros_in_front_and_fits(item):
    with pytest.raises(ProofError):
        state_proof.read_rlp_integer(item, 8)


def test_numbers_are_read_as_they_are_written():
    for value in (0, 1, 127, 128, 255, 256, (1 << 64) - 1):
        assert state_proof.read_rlp_integer(state_proof.encode_integer(value), 8) == value


def test_a_list_is_no_string_and_a_string_no_list():
    for read in (
        lambda: state_proof.read_string([]),
        lambda: state_proof.read_list(b""),
        lambda: state_proof.read_fixed_string(b"ab", 3),
    ):
        with pytest.raises(ProofError):
            read()


# Keccak-256 against known digests and against pycryptodome.
KNOWN = {
    b"": "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470",
    b"abc": "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45",
    b"\x80": "56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
    b"\xc0": "1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347",
    b"Transfer(address,address,uint256)": (
        "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
    ),
}
"""The empty input and "abc" of the Keccak team; an empty trie, no uncles, a well-known event."""


def expected(data: bytes) -> bytes:
    return keccak.new(digest_bits=256, data=data).digest()


@pytest.mark.parametrize("data", KNOWN)
def test_known_digests(data):
    assert keccak256(data).hex() == KNOWN[data]


@pytest.mark.parametrize("size", [*range(130, 142), 271, 272, 273, 408, 532, 1024])
def test_inputs_around_the_ends_of_blocks_are_padded_right(size):
    data = bytes(range(256)) * 4
    assert keccak256(data[:size]) == expected(data[:size])


@given(st.binary(max_size=500))
def test_any_input_has_the_digest_of_another_implementation(data):
    assert keccak256(data) == expected(data)


@given(st.lists(st.binary(max_size=500), max_size=20))
def test_messages_of_any_sizes_are_hashed_side_by_side(messages):
    ours._digest_cache.clear()
    hash_ahead(messages)
    assert ours._digest_cache == {one: expected(one) for one in messages}
