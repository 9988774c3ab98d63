from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain import merkle


def join(pair: bytes) -> bytes:
    return sha256(b"\x01" + pair).digest()


def leaf(data: bytes) -> bytes:
    return sha256(b"\x00" + data).digest()


def by_definition(leaves: list[bytes]) -> bytes:
    """RFC 6962, section 2.1: split at the largest power of two below n."""
    if len(leaves) == 1:
        return leaves[0]
    split = 1 << ((len(leaves) - 1).bit_length() - 1)
    return join(by_definition(leaves[:split]) + by_definition(leaves[split:]))


PUBLISHED = [  # leaves and roots of the test data of Certificate Transparency
    ("", "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"),
    ("00", "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"),
    ("10", "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"),
    ("2021", "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"),
    ("3031", "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4"),
    ("40414243", "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"),
    ("5051525354555657", "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"),
    (
        "606162636465666768696a6b6c6d6e6f",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ),
]


@pytest.mark.parametrize("count", range(1, len(PUBLISHED) + 1))
def test_the_root_is_that_of_certificate_transparency(count: int) -> None:
    leaves = [leaf(bytes.fromhex(data)) for data, _ in PUBLISHED[:count]]
    assert merkle.root(leaves, join).hex() == PUBLISHED[count - 1][1]


@pytest.mark.parametrize("count", [*range(1, 70), 127, 128, 129, 161, 162, 1000])
def test_joining_row_by_row_gives_the_tree_that_the_rfc_defines(count: int) -> None:
    leaves = [leaf(bytes([i & 255, i >> 8])) for i in range(count)]
    assert merkle.root(leaves, join) == by_definition(leaves)


def test_a_tree_of_one_leaf_is_that_leaf() -> None:
    assert merkle.rows([b"leaf"], join) == [[b"leaf"]]


def test_the_rows_halve_from_the_leaves_to_the_root() -> None:
    rows = merkle.rows([leaf(bytes([i])) for i in range(11)], join)
    assert [len(row) for row in rows] == [11, 6, 3, 2, 1]


def test_a_list_whose_last_leaf_is_repeated_has_another_root() -> None:
    leaves = [leaf(bytes([i])) for i in range(3)]
    assert merkle.root(leaves, join) != merkle.root([*leaves, leaves[-1]], join)


def test_the_order_of_leaves_counts() -> None:
    leaves = [leaf(b"a"), leaf(b"b")]
    assert merkle.root(leaves, join) != merkle.root(leaves[::-1], join)


digests = st.integers(0, 3).map(lambda number: leaf(bytes([number])))
lists = st.lists(digests, min_size=1, max_size=40)


@given(lists, lists)
def test_rows_taken_over_from_a_similar_tree_are_the_rows_computed_afresh(
    leaves: list[bytes], others: list[bytes]
) -> None:
    like = merkle.rows(others, join)
    assert merkle.rows(leaves, join, like) == merkle.rows(leaves, join)


def test_one_changed_leaf_costs_one_hash_a_row() -> None:
    old = [leaf(bytes([i])) for i in range(64)]
    calls = []

    def counting(pair: bytes) -> bytes:
        calls.append(pair)
        return join(pair)

    new = [*old[:17], leaf(b"new"), *old[18:]]
    assert merkle.rows(new, counting, merkle.rows(old, join)) == merkle.rows(new, join)
    assert len(calls) == 6


@given(lists, st.dictionaries(st.integers(0, 39), digests, max_size=5))
def test_rows_with_some_leaves_replaced_are_the_rows_computed_afresh(
    leaves: list[bytes], others: dict[int, bytes]
) -> None:
    others = {place: other for place, other in others.items() if place < len(leaves)}
    before = merkle.rows(leaves, join)
    new = [others.get(place, old) for place, old in enumerate(leaves)]
    assert merkle.replaced(before, others, join) == merkle.rows(new, join)
    assert before == merkle.rows(leaves, join)
