"""Two signed children of one snapshot are found in a lineage."""

from collections.abc import Iterable

from brain.trust.rights import verify_in_background
from tests.support.signed_lineages import PUBLIC_KEYS, SignedLineage, find_equivocations


def found(line: SignedLineage, read: Iterable[int] = ()) -> list[tuple[int, int, int, int]]:
    """Return parent, key and both children of each equivocation, as numbers."""
    behind = {line.ids[number] for number in read}
    with verify_in_background(line.brain, line.rows) as finish:
        signers = finish()
    walk = sorted(line.known.items(), key=lambda row: -row[1].generation)
    told = []
    for one in find_equivocations(line.load, iter(walk), signers, behind):
        ends = sorted(map(line.ids.index, (one.first, one.second)))
        told.append((line.ids.index(one.parent), PUBLIC_KEYS.index(one.key), *ends))
    return sorted(told)


def test_a_line_has_none():
    line = SignedLineage(by=[0])
    for _ in range(5):
        line.add(by=[0])
    assert found(line) == []


def test_two_children_of_one_snapshot_by_one_key_are_one():
    line = SignedLineage(by=[0])
    a, b = line.add(0, by=[0, 1]), line.add(0, by=[0], author="other")
    assert found(line) == [(0, 0, a, b)]


def test_two_children_by_two_keys_or_unsigned_are_none():
    line = SignedLineage(by=[0])
    line.add(0, by=[0])
    line.add(0, by=[1], author="b")
    line.add(0, author="c")
    assert found(line) == []


def test_a_signature_that_does_not_fit_accuses_nobody():
    line = SignedLineage(by=[0])
    line.add(0, by=[0])
    b = line.add(0, author="b")
    line.rows.append((line.ids[b], PUBLIC_KEYS[0], bytes(64)))
    assert found(line) == []


def test_a_merge_of_a_sibling_or_of_what_came_of_it_is_its_descendant_and_none():
    line = SignedLineage(by=[0])
    side = line.add(0, by=[0])
    line.add(0, side, by=[0])
    assert found(line) == []
    line = SignedLineage(by=[0])
    side = line.add(0, by=[0])
    line.add(0, line.add(line.add(side)), by=[0])
    assert found(line) == []


def test_a_merge_of_something_else_is_one():
    line = SignedLineage(by=[0])
    side = line.add(line.add(0, author="unsigned"), author="x")
    a = line.add(0, by=[0])
    merge = line.add(0, side, by=[0])
    assert found(line) == [(0, 0, a, merge)]


def test_each_of_many_children_is_told_once_for_each_key():
    line = SignedLineage()
    for number in range(6):
        line.add(0, by=[0, 1], author=str(number))
    assert [key for _, key, _, _ in found(line)] == [0] * 5 + [1] * 5


def test_two_children_that_a_head_descends_from_are_none_to_who_reads_that_head():
    line, a, b = simple()
    merge = line.add(a, b, by=[0])
    assert found(line, [0, a, b, merge]) == []
    assert found(line, [0, a]) == found(line, [0, b]) == [(0, 0, a, b)] == found(line)


def test_a_merge_of_two_children_hides_no_third_one_whatever_was_told_first():
    line = SignedLineage(by=[0])
    a = line.add(0, by=[0])
    third = line.add(0, a, by=[0])
    b = line.add(0, line.add(line.add(0)), by=[0])
    head = line.add(a, b)
    assert found(line, [*range(3, head + 1), 0, a]) == [(0, 0, third, b)]


def simple() -> tuple[SignedLineage, int, int]:
    line = SignedLineage(by=[0])
    return line, line.add(0, by=[0]), line.add(0, by=[0], author="b")


def test_siblings_behind_the_head_are_compared_with_the_others_alone():
    line = SignedLineage(by=[0])
    read = [line.add(0, by=[0], author=str(number)) for number in range(3)]
    assert found(line, [0, *read]) == []
    other = line.add(0, by=[0], author="other")
    pairs = found(line, [0, *read])
    assert all(other in pair[2:] for pair in pairs)
    place = sorted([*read, other], key=line.ids.__getitem__).index(other)
    assert len(pairs) == 3 - place + (place > 0)  # later ones against it, it against an earlier one
