"""The tree of RFC 6962: roots and proofs against its definition and known values."""

import pytest

from brain.chain.tlog import merkle
from brain.chain.tlog.merkle import (
    EMPTY_ROOT,
    CompactRange,
    Subtree,
    is_consistent,
    is_included,
    leaf_hash,
    node_hash,
)
from tests.support.tlog_ledgers import (
    consistency_proof,
    inclusion_path,
    merkle_tree_hash,
    range_hashes,
)

# The reference data of Certificate Transparency's Merkle trees, as in testonly/constants.go
# of github.com/transparency-dev/merkle: eight leaves, and the root of each size.
LEAVES = [
    bytes.fromhex(text)
    for text in (
        *("", "00", "10", "2021", "3031", "40414243", "5051525354555657"),
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = [
    bytes.fromhex(text)
    for text in (
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    )
]
# The way of leaf 5 to the root of eight, and from size 6 to 8 (testdata/inclusion/2 and
# testdata/consistency/2 there).
PATH_5_OF_8 = [
    "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
]
FROM_6_TO_8 = [
    "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
    "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
]


def edge_of(leaves: list[bytes]) -> CompactRange:
    edge = CompactRange(0, [])
    edge.append_leaves(map(leaf_hash, leaves))
    return edge


@pytest.mark.parametrize("size", range(9))
def test_the_roots_of_the_reference_tree_are_the_published_ones(size):
    assert edge_of(LEAVES[:size]).root_hash() == ROOTS[size] == merkle_tree_hash(LEAVES[:size])


def test_hashes_of_leaves_and_nodes_are_the_published_ones():
    # rfc6962/rfc6962_test.go there
    leaf = "395aa064aa4c29f7010acfe3f25db9485bbd4b91897b6ad7ad547639252b4d56"
    node = "aa217fe888e47007fa15edab33c2b492a722cb106c64667fc2b044444de66bbb"
    assert leaf_hash(b"L123456").hex() == leaf
    assert node_hash(b"N123" + b"N456").hex() == node
    assert ROOTS[0] == EMPTY_ROOT


def test_proofs_of_the_reference_tree_are_the_published_ones():
    inclusion = range_hashes(merkle.inclusion_ranges(5, 8), LEAVES)
    consistency = range_hashes(merkle.consistency_ranges(6, 8), LEAVES)
    assert [hash.hex() for hash in inclusion] == PATH_5_OF_8
    assert [hash.hex() for hash in consistency] == FROM_6_TO_8
    assert is_included(ROOTS[8], 8, 5, leaf_hash(LEAVES[5]), inclusion)
    assert is_consistent(6, ROOTS[6], 8, ROOTS[8], consistency)


def test_a_proof_is_refused_for_any_other_place_or_state():
    # A root alone does not tell its size: it is the checkpoint that binds the two.
    way = [bytes.fromhex(text) for text in PATH_5_OF_8]
    leaf = leaf_hash(LEAVES[5])
    for size in range(9):
        for index in range(-1, 12):
            assert is_included(ROOTS[size], size, index, leaf, way) is ((size, index) == (8, 5))


def test_a_way_between_sizes_is_refused_between_any_others():
    way = [bytes.fromhex(text) for text in FROM_6_TO_8]
    # 5 -> 8 has as many hashes, and other roots.
    for old in range(-1, 9):
        for new in range(9):
            taken = is_consistent(old, ROOTS[max(old, 0)], new, ROOTS[new], way)
            assert taken is ((old, new) == (6, 8))


def test_longer_and_shorter_ways_are_refused():
    inclusion = [bytes.fromhex(text) for text in PATH_5_OF_8]
    consistency = [bytes.fromhex(text) for text in FROM_6_TO_8]
    leaf = leaf_hash(LEAVES[5])
    for change in (lambda w: w[:-1], lambda w: w[1:], lambda w: [*w, w[0]], lambda w: []):
        assert not is_included(ROOTS[8], 8, 5, leaf, change(inclusion))
        assert not is_consistent(6, ROOTS[6], 8, ROOTS[8], change(consistency))


def test_what_is_no_hash_is_refused():
    assert not is_included(b"", 1, 0, b"", [])
    assert not is_included(ROOTS[1] * 2, 1, 0, ROOTS[1] * 2, [])
    assert not is_consistent(1, b"x", 1, b"x", [])
    # A node given as a longer "sibling" would be hashed to the same.
    way = [bytes.fromhex(text) for text in PATH_5_OF_8]
    assert not is_included(
        ROOTS[8], 8, 5, leaf_hash(LEAVES[5])[:31], [way[0][31:] + way[0], *way[1:]]
    )


def test_the_same_tree_extends_itself_by_an_empty_way_alone():
    assert is_consistent(8, ROOTS[8], 8, ROOTS[8], [])
    assert not is_consistent(8, ROOTS[8], 8, ROOTS[8], [ROOTS[8]])
    assert not is_consistent(8, ROOTS[7], 8, ROOTS[8], [])


def test_nothing_is_proven_of_the_empty_tree():
    assert not is_consistent(0, EMPTY_ROOT, 8, ROOTS[8], [])
    assert not is_consistent(0, EMPTY_ROOT, 0, EMPTY_ROOT, [])
    assert merkle.consistency_ranges(0, 8) == []


@pytest.mark.parametrize("size", range(71))
def test_every_proof_of_a_small_tree_is_that_of_the_definition(size):
    leaves = [b"%d" % number for number in range(size)]
    root = merkle_tree_hash(leaves)
    assert edge_of(leaves).root_hash() == root
    for index in range(size):
        way = range_hashes(merkle.inclusion_ranges(index, size), leaves)
        assert way == inclusion_path(index, leaves)
        assert is_included(root, size, index, leaf_hash(leaves[index]), way)
    for old in range(1, size + 1):
        way = range_hashes(merkle.consistency_ranges(old, size), leaves)
        assert way == consistency_proof(old, leaves)
        assert is_consistent(old, merkle_tree_hash(leaves[:old]), size, root, way)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 64, 70])
def test_what_is_stored_is_every_complete_subtree_once(size):
    leaves = [b"%d" % number for number in range(size)]
    stored = CompactRange(0, []).append_leaves(map(leaf_hash, leaves))
    assert sum(map(len, stored)) == 32 * (2 * size - size.bit_count())
    for level in range(size.bit_length()):
        for place in range(size >> level):
            start, subtree = place << level, Subtree(level, place)
            there = stored[subtree.last_leaf][32 * level :][:32]
            assert there == merkle_tree_hash(leaves[start : start + (1 << level)])


def test_a_range_is_covered_from_left_to_right_without_gaps():
    for size in range(300):
        place = 0
        for level, number in merkle.cover_range(0, size):
            assert number << level == place
            place += 1 << level
        assert place == size
        assert len(merkle.cover_range(0, size)) == size.bit_count()
