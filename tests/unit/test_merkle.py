from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain import merkle
from tests.support.cases import read_cases

CASES = read_cases(__file__)


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


PUBLISHED = CASES["published"]


@pytest.mark.parametrize("count", range(1, len(PUBLISHED) + 1))
def test_the_root_is_that_of_certificate_transparency(count):
    leaves = [leaf(bytes.fromhex(data)) for data, _ in PUBLISHED[:count]]
    assert merkle.root_hash(leaves, join).hex() == PUBLISHED[count - 1][1]


@pytest.mark.parametrize("count", [*range(1, 70), 127, 128, 129, 161, 162, 1000])
def test_joining_row_by_row_gives_the_tree_that_the_rfc_defines(count):
    leaves = [leaf(bytes([i & 255, i >> 8])) for i in range(count)]
    assert merkle.root_hash(leaves, join) == by_definition(leaves)


def test_a_tree_of_one_leaf_is_that_leaf():
    assert merkle.build_rows([b"leaf"], join) == [[b"leaf"]]


def test_the_rows_halve_from_the_leaves_to_the_root():
    rows = merkle.build_rows([leaf(bytes([i])) for i in range(11)], join)
    assert [len(row) for row in rows] == [11, 6, 3, 2, 1]


def test_a_list_whose_last_leaf_is_repeated_has_another_root():
    leaves = [leaf(bytes([i])) for i in range(3)]
    assert merkle.root_hash(leaves, join) != merkle.root_hash([*leaves, leaves[-1]], join)


def test_the_order_of_leaves_counts():
    leaves = [leaf(b"a"), leaf(b"b")]
    assert merkle.root_hash(leaves, join) != merkle.root_hash(leaves[::-1], join)


digests = st.integers(0, 3).map(lambda number: leaf(bytes([number])))
lists = st.lists(digests, min_size=1, max_size=40)


@given(lists, lists)
def test_rows_taken_over_from_a_similar_tree_are_the_rows_computed_afresh(leaves, others):
    like = merkle.build_rows(others, join)
    assert merkle.build_rows(leaves, join, like) == merkle.build_rows(leaves, join)


def test_one_changed_leaf_costs_one_hash_a_row():
    old = [leaf(bytes([i])) for i in range(64)]
    calls = []

    def counting(pair: bytes) -> bytes:
        calls.append(pair)
        return join(pair)

    new = [*old[:17], leaf(b"new"), *old[18:]]
    assert merkle.build_rows(new, counting, merkle.build_rows(old, join)) == merkle.build_rows(
        new, join
    )
    assert len(calls) == 6


def path_by_definition(index: int, leaves: list[bytes]) -> list[bytes]:
    """RFC 6962, section 2.1.1: PATH(m, D[n])."""
    if len(leaves) == 1:
        return []
    split = 1 << ((len(leaves) - 1).bit_length() - 1)
    if index < split:
        return [*path_by_definition(index, leaves[:split]), by_definition(leaves[split:])]
    return [*path_by_definition(index - split, leaves[split:]), by_definition(leaves[:split])]


def verified_by_rfc_9162(
    leaf_index: int, tree_size: int, path: list[bytes], start: bytes, root: bytes
) -> bool:
    """RFC 9162, section 2.1.3.2, step by step."""
    if leaf_index >= tree_size:
        return False
    fn, sn, r = leaf_index, tree_size - 1, start
    for p in path:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            r = join(p + r)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            r = join(r + p)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and r == root


@pytest.mark.parametrize("count", [*range(1, 20), 31, 32, 33, 63, 64, 65, 161, 162])
def test_an_audit_path_is_that_of_the_rfcs_and_leads_to_the_root(count):
    leaves = [leaf(bytes([i])) for i in range(count)]
    rows = merkle.build_rows(leaves, join)
    for index in range(count):
        steps = merkle.audit_path(rows, index)
        hashes = [step.sibling for step in steps]
        assert hashes == path_by_definition(index, leaves)
        assert verified_by_rfc_9162(index, count, hashes, leaves[index], rows[-1][0])
        assert merkle.root_from_path(leaves[index], steps, join) == rows[-1][0]


PATHS = CASES["paths"]


@pytest.mark.parametrize(("index", "count", "path"), PATHS)
def test_an_audit_path_is_that_of_certificate_transparency(index, count, path):
    rows = merkle.build_rows([leaf(bytes.fromhex(data)) for data, _ in PUBLISHED[:count]], join)
    assert [step.sibling.hex() for step in merkle.audit_path(rows, index)] == path


def test_a_path_in_two_parts_is_the_whole_path():
    rows = merkle.build_rows([leaf(bytes([i])) for i in range(11)], join)
    for index in range(11):
        for part in range(len(rows)):
            lower = merkle.audit_path(rows[: part + 1], index)
            assert lower + merkle.audit_path(rows[part:], index >> part) == merkle.audit_path(
                rows, index
            )


@given(lists, st.data())
def test_a_path_with_any_step_changed_leads_elsewhere(leaves, data):
    rows = merkle.build_rows(leaves, join)
    index = data.draw(st.integers(0, len(leaves) - 1))
    steps = merkle.audit_path(rows, index)
    for place, (left, sibling) in enumerate(steps):
        for other in [[(left, leaf(b"other"))], [], [(left, sibling)] * 2]:
            changed = [
                *steps[:place],
                *(merkle.AuditStep(*one) for one in other),
                *steps[place + 1 :],
            ]
            assert merkle.root_from_path(leaves[index], changed, join) != rows[-1][0]
