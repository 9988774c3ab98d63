"""Keccak-256 against known digests and against pycryptodome."""

import pytest
from Crypto.Hash import keccak
from hypothesis import given
from hypothesis import strategies as st

from brain.chain.evidence import keccak as ours
from brain.chain.evidence.keccak import MAX_CACHED_DIGESTS, hash_ahead, keccak256

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


def test_only_so_many_digests_are_kept():
    for start in range(0, 2 * MAX_CACHED_DIGESTS, 200):
        hash_ahead(b"%d" % number for number in range(start, start + 200))
        assert len(ours._digest_cache) <= MAX_CACHED_DIGESTS
    assert keccak256(b"0") == expected(b"0")
