"""Proofs of large logs, proofs that were changed, and another implementation's opinion."""

from functools import cache

from hypothesis import given
from hypothesis import strategies as st
from pymerkle import InmemoryTree

from brain.chain.tlog import merkle
from brain.chain.tlog.merkle import (
    EMPTY_ROOT,
    CompactRange,
    LeafRange,
    Subtree,
    is_consistent,
    is_included,
    leaf_hash,
)

MOST = 3000
LEAVES = [b"leaf %d" % number for number in range(MOST)]


@cache
def stored() -> list[bytes]:
    return CompactRange(0, []).append_leaves(map(leaf_hash, LEAVES))


@cache
def other() -> InmemoryTree:
    tree = InmemoryTree(algorithm="sha256")
    for leaf in LEAVES:
        tree.append_entry(leaf)
    return tree


def hash_of(subtree: Subtree) -> bytes:
    return stored()[subtree.last_leaf][32 * subtree.level :][:32]


def hash_over(span: LeafRange) -> bytes:
    return merkle.fold_hashes([hash_of(one) for one in merkle.cover_range(*span)])


def root(size: int) -> bytes:
    return hash_over((0, size))


sizes = st.integers(1, MOST)


@st.composite
def places(draw: st.DrawFn) -> tuple[int, int]:
    size = draw(sizes)
    return draw(st.integers(0, size - 1)), size


@st.composite
def pairs(draw: st.DrawFn) -> tuple[int, int]:
    new = draw(sizes)
    return draw(st.integers(1, new)), new


@given(places())
def test_roots_and_inclusion_are_those_of_another_implementation(place):
    index, size = place
    theirs = other().prove_inclusion(index + 1, size)
    mine = [hash_over(span) for span in merkle.inclusion_ranges(index, size)]
    assert theirs.path == [leaf_hash(LEAVES[index]), *mine]
    assert other().get_root(size) == root(size)
    assert is_included(root(size), size, index, leaf_hash(LEAVES[index]), mine)


@given(pairs())
def test_every_state_is_proven_to_extend_every_one_before(pair):
    old, new = pair
    way = [hash_over(span) for span in merkle.consistency_ranges(old, new)]
    assert len(way) <= 2 * new.bit_length()
    assert is_consistent(old, root(old), new, root(new), way)


@given(places(), st.data())
def test_a_changed_proof_of_inclusion_is_refused(place, data):
    index, size = place
    way = [hash_over(span) for span in merkle.inclusion_ranges(index, size)]
    given = [root(size), leaf_hash(LEAVES[index]), *way]
    which = data.draw(st.integers(0, len(given) - 1))
    given[which] = data.draw(flipped(given[which]))
    assert not is_included(given[0], size, index, given[1], given[2:])


@given(pairs(), st.data())
def test_a_changed_proof_of_consistency_is_refused(pair, data):
    old, new = pair
    way = [hash_over(span) for span in merkle.consistency_ranges(old, new)]
    given = [root(old), root(new), *way]
    which = data.draw(st.integers(0, len(given) - 1))
    given[which] = data.draw(flipped(given[which]))
    assert not is_consistent(old, given[0], new, given[1], given[2:])


@given(pairs(), st.integers(0, MOST), st.integers(0, MOST))
def test_a_way_between_sizes_proves_nothing_of_others(pair, old, new):
    way = [hash_over(span) for span in merkle.consistency_ranges(*pair)]
    states = [root(size) if size else EMPTY_ROOT for size in (old, new)]
    same = pair == (old, new) or (0 < old == new and not way)
    assert is_consistent(old, states[0], new, states[1], way) is same


@given(st.lists(sizes, max_size=5))
def test_a_log_that_grows_in_steps_stores_the_same(steps):
    edge, completed = CompactRange(0, []), []
    for size in sorted(steps):
        completed += edge.append_leaves(map(leaf_hash, LEAVES[edge.size : size]))
        resumed = [hash_of(one) for one in merkle.cover_range(0, edge.size)]
        edge = CompactRange(edge.size, resumed)
        assert edge.root_hash() == root(edge.size)
    assert completed == stored()[: len(completed)]


@st.composite
def flipped(draw: st.DrawFn, hash: bytes) -> bytes:
    bit = draw(st.integers(0, 255))
    return (int.from_bytes(hash, "big") ^ 1 << bit).to_bytes(32, "big")
