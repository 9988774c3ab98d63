"""Recipes of large blobs: their encoding, and how a growing file is listed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.store.blobs.chunk_list import (
    EMPTY_CHUNK_LIST,
    MAX_LISTED_CHUNKS,
    MAX_PREFIX_DEPTH,
    SMALL_CHUNK_BYTES,
    ChunkList,
    decode_chunk_list,
    encode_chunk_list,
    plan_append,
)

ID = b"i" * 32
BASE = b"b" * 32
pieces = st.lists(st.tuples(st.binary(min_size=32, max_size=32), st.integers(0, 2**32 - 1)))


def listed(*sizes: int, depth: int = 0) -> ChunkList:
    chunks = [bytes([number]) * 32 for number in range(len(sizes))]
    return ChunkList(depth, BASE if depth else b"", 999 if depth else 0, chunks, list(sizes))


@given(pieces, st.integers(0, MAX_PREFIX_DEPTH), st.integers(1, 2**40))
def test_a_recipe_comes_back_as_it_was_packed(listing, depth, prefix_size):
    chunks, sizes = [chunk for chunk, _ in listing], [size for _, size in listing]
    prefix, size = (BASE, prefix_size) if depth else (b"", 0)
    recipe = ChunkList(depth, prefix, size, chunks, sizes)
    assert decode_chunk_list(ID, encode_chunk_list(ID, recipe)) == recipe
    assert recipe.size == size + sum(sizes)


@pytest.mark.parametrize("place", range(80))
def test_a_recipe_with_any_byte_changed_is_refused(place):
    stored = bytearray(encode_chunk_list(ID, listed(5, 6, depth=1)))
    stored[place] ^= 1
    with pytest.raises(ValueError, match="its chunk list"):
        decode_chunk_list(ID, bytes(stored))


def test_a_recipe_under_another_id_or_cut_short_is_refused():
    stored = encode_chunk_list(ID, listed(5, 6))
    for id, given_bytes in ((BASE, stored), (ID, stored[:-1]), (ID, b""), (ID, stored[:8])):
        with pytest.raises(ValueError, match="its chunk list"):
            decode_chunk_list(id, given_bytes)


@pytest.mark.parametrize(
    "recipe",
    [
        ChunkList(MAX_PREFIX_DEPTH + 1, BASE, 1, [], []),
        ChunkList(1, BASE, 0, [], []),
        ChunkList(0, b"", 1, [], []),
        ChunkList(0, BASE, 0, [], []),
        ChunkList(1, b"", 1, [], []),
        ChunkList(0, b"", 0, [BASE], []),
    ],
)
def test_a_recipe_that_contradicts_itself_is_refused(recipe):
    with pytest.raises(ValueError, match="its chunk list"):
        decode_chunk_list(ID, encode_chunk_list(ID, recipe))


def test_pieces_are_added_to_a_short_list():
    recipe = listed(*[100] * (MAX_LISTED_CHUNKS - 1))
    assert plan_append(BASE, recipe) == (recipe, [])


def test_many_small_pieces_are_joined():
    recipe = listed(SMALL_CHUNK_BYTES, SMALL_CHUNK_BYTES, *[100] * (MAX_LISTED_CHUNKS - 2))
    plan = plan_append(BASE, recipe)
    assert plan is not None
    assert plan.start.sizes == [SMALL_CHUNK_BYTES, SMALL_CHUNK_BYTES]
    assert plan.rejoin == recipe.chunks[2:]


def test_a_long_list_of_whole_chunks_becomes_a_prefix():
    recipe = listed(*[SMALL_CHUNK_BYTES] * MAX_LISTED_CHUNKS, depth=3)
    plan = plan_append(BASE, recipe)
    assert plan == (ChunkList(4, BASE, recipe.size, [], []), [])


def test_prefixes_do_not_nest_beyond_the_bound():
    assert (
        plan_append(BASE, listed(*[SMALL_CHUNK_BYTES] * MAX_LISTED_CHUNKS, depth=MAX_PREFIX_DEPTH))
        is None
    )


def test_nothing_is_a_recipe_of_no_bytes():
    assert EMPTY_CHUNK_LIST.size == 0
