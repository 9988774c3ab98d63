"""Lineages: jumps, ancestors and bases of merges."""

import random

import pytest

from brain.errors import NotFound
from brain.objects import lineage
from brain.objects.lineage import find_descent_path, find_meeting_point, find_merge_bases
from brain.objects.snapshot import Snapshot
from tests.support.snapshot_graphs import SnapshotGraph


def line(total: int) -> SnapshotGraph:
    dag = SnapshotGraph()
    for number in range(total - 1):
        dag.add(number)
    return dag


def test_jumps_of_a_line_are_those_of_a_skew_binary_list():
    dag = line(17)
    targets = [dag.known[here].jump.target for here in dag.ids[1:]]
    found = [dag.ids.index(target) for target in targets]
    assert found == [0, 1, 0, 3, 4, 3, 0, 7, 8, 7, 10, 11, 10, 7, 0, 15]


def test_depth_follows_the_first_parent_where_generation_follows_the_longest():
    dag = line(6)
    dag.add(0)
    merge = dag.known[dag.add(6, 5)]
    assert (merge.generation, merge.jump.depth) == (6, 2)
    other = dag.known[dag.add(5, 6)]
    assert (other.generation, other.jump.depth) == (6, 6)


def test_first_parents_are_walked_from_newest_to_genesis():
    dag = line(4)
    merge = dag.add(3, 0)
    assert [here for here, _ in lineage.walk_first_parents(dag.load, merge)] == [
        merge,
        *dag.ids[3::-1],
    ]


def test_an_ancestor_off_the_line_of_first_parents_is_found_too():
    dag = line(5)
    aside = dag.add(1)
    merge = dag.add(4, 5)
    assert lineage.find_ancestor_at(dag.load, merge, 2) != aside
    assert lineage.is_ancestor(dag.load, aside, merge)
    assert not lineage.is_ancestor(dag.load, aside, dag.ids[4])
    assert not lineage.is_ancestor(dag.load, merge, aside)
    assert lineage.is_ancestor(dag.load, merge, merge)


def test_history_of_a_diamond_yields_each_snapshot_once_and_children_first():
    dag = line(2)
    left, right = dag.add(1), dag.add(1)
    merge = dag.add(2, 3)
    order = [here for here, _ in lineage.walk_ancestors(dag.load, merge)]
    assert order[0] == merge
    assert set(order[1:3]) == {left, right}
    assert order[3:] == [dag.ids[1], dag.ids[0]]


def test_a_missing_ancestor_is_told_by_the_loader():
    dag = line(9)

    def load(snapshot_id: bytes) -> Snapshot:
        if snapshot_id == dag.ids[4]:
            raise NotFound("gone", code="missing_object")
        return dag.load(snapshot_id)

    with pytest.raises(NotFound):
        lineage.find_ancestor_at(load, dag.ids[8], 4)
    with pytest.raises(NotFound):
        list(lineage.walk_ancestors(load, dag.ids[8]))


def bases(dag: SnapshotGraph, a: int, b: int) -> list[int]:
    found = find_merge_bases(dag.load, dag.merges(), dag.ids[a], dag.ids[b])
    return sorted(map(dag.ids.index, found))


def test_two_branches_have_the_snapshot_they_part_at_as_their_base():
    dag = line(6)
    dag.add(3)
    assert bases(dag, 5, 6) == [3]


def test_an_ancestor_is_the_base_of_itself_and_a_descendant():
    dag = line(6)
    assert bases(dag, 2, 5) == bases(dag, 5, 2) == [2]
    assert bases(dag, 4, 4) == [4]


def test_a_branch_merged_before_has_its_merged_tip_as_base():
    dag = line(3)
    side = dag.add(1)
    dag.add(2, 3)
    dag.add(3)
    assert dag.ids.index(side) == 3
    assert bases(dag, 4, 5) == [3]


def test_a_criss_cross_has_two_bases():
    dag = line(1)
    dag.add(0)
    dag.add(0)
    dag.add(1, 2)
    dag.add(2, 1)
    assert bases(dag, 3, 4) == [1, 2]
    dag.add(3)
    dag.add(4)
    assert bases(dag, 5, 6) == [1, 2]


def test_a_base_may_lie_below_the_meeting_of_the_lines_by_generation_and_still_count():
    dag = line(9)
    dag.add(0)  # 9, old and never on the line
    dag.add(8, 9)
    dag.add(8, 9)
    assert bases(dag, 10, 11) == [8, 9]


def test_an_octopus_shares_every_tip_it_took():
    dag = line(1)
    for _ in range(16):
        dag.add(0)
    dag.add(*range(1, 17))
    dag.add(*range(8, 17))
    assert bases(dag, 17, 18) == list(range(8, 17))


def test_lineages_without_a_common_genesis_have_no_base():
    dag = line(3)
    dag.add_fork(2)
    dag.add(3)
    assert bases(dag, 2, 4) == []
    assert find_meeting_point(dag.load, dag.ids[2], dag.ids[4]) is None


def test_diamonds_without_end_take_linear_time():
    dag = line(1)
    left = right = 0
    for _ in range(20):
        dag.add(*dict.fromkeys((left, right)))
        dag.add(*dict.fromkeys((right, left)))
        left, right = len(dag.ids) - 2, len(dag.ids) - 1
    assert len(dag.ids) == 41
    for a, b, expected in [(39, 40, [37, 38]), (1, 40, [1]), (1, 2, [0]), (3, 40, [3])]:
        dag.loads.clear()
        assert bases(dag, a, b) == expected
        assert len(dag.loads) <= 41
    dag.loads.clear()
    way = find_descent_path(dag.load, dag.ids[2], dag.ids[39])
    assert way is not None and len(way) <= 21
    assert len(dag.loads) <= 41


def test_the_base_of_branches_of_thousands_takes_a_few_loads():
    dag = line(3000)
    dag.add(700)
    for number in range(3000, 4000):
        dag.add(number)
    dag.loads.clear()
    assert bases(dag, 2999, 4000) == [700]
    assert len(dag.loads) <= 100


def test_merges_below_the_meeting_of_two_lines_are_not_looked_at():
    dag = line(2)
    dag.add(0)
    dag.add(1, 2)
    for number in range(3, 100):
        dag.add(number)
    dag.add(50)
    dag.loads.clear()
    assert bases(dag, 100, 101) == [50]
    assert dag.ids[3] not in dag.loads


def test_a_side_branch_merged_again_and_again_does_not_make_the_lines_walked():
    dag = line(2000)
    for number in range(100, 1000, 100):
        dag.add(number)
    for side in range(2000, 2009):
        dag.add(len(dag.ids) - 1 if side > 2000 else 1999, side)
        for _ in range(100):
            dag.add(len(dag.ids) - 1)
    tip = len(dag.ids) - 1
    dag.add(50)
    dag.loads.clear()
    assert bases(dag, tip, tip + 1) == [50]
    assert len(set(dag.loads)) <= 400


def test_what_is_no_merge_may_stand_among_the_merges():
    dag = line(6)
    dag.add(3)
    rows = [(here, made.generation) for here, made in dag.known.items()]
    assert find_merge_bases(dag.load, rows, dag.ids[5], dag.ids[6]) == [dag.ids[3]]


def test_the_way_down_a_line_of_thousands_has_a_few_dozen_steps():
    dag = line(5000)
    chooser = random.Random(5)
    for _ in range(50):
        old, new = sorted(chooser.sample(range(5000), 2))
        way = find_descent_path(dag.load, dag.ids[old], dag.ids[new])
        assert way is not None and len(way) <= 3 * new.bit_length()


def test_the_way_into_a_side_branch_takes_jumps_on_both_lines():
    dag = line(1000)
    dag.add(10)
    for number in range(1000, 2000):
        dag.add(number)
    dag.add(999, 2000)
    for _ in range(1000):
        dag.add(len(dag.ids) - 1)
    dag.loads.clear()
    way = find_descent_path(dag.load, dag.ids[1003], dag.ids[-1])
    assert way is not None and len(way) <= 45
    assert way[0] == dag.ids[-1] and way[-1] == dag.ids[1003]


def test_the_way_crosses_forks_of_forks():
    dag = line(40)
    for _ in range(3):
        dag.add_fork(len(dag.ids) - 1)
        for _ in range(30):
            dag.add(len(dag.ids) - 1)
    way = find_descent_path(dag.load, dag.ids[7], dag.ids[-1])
    assert way is not None
    brains = list(dict.fromkeys(dag.known[here].brain or here for here in way))
    assert len(brains) == 4
    assert find_descent_path(dag.load, dag.ids[-1], dag.ids[7]) is None
    assert find_descent_path(dag.load, dag.ids[45], dag.ids[39]) is None


def test_a_snapshot_descends_from_itself():
    dag = line(3)
    assert find_descent_path(dag.load, dag.ids[1], dag.ids[1]) == [dag.ids[1]]


def test_an_origin_that_is_not_here_is_told_by_the_loader():
    dag = line(3)
    dag.add_fork(2)
    dag.add(3)

    def load(snapshot_id: bytes) -> Snapshot:
        if snapshot_id == dag.ids[2]:
            raise NotFound("gone", code="missing_object")
        return dag.load(snapshot_id)

    with pytest.raises(NotFound):
        find_descent_path(load, dag.ids[0], dag.ids[4])
    assert find_descent_path(load, dag.ids[3], dag.ids[4]) == [dag.ids[4], dag.ids[3]]


def test_where_a_jump_lands_follows_from_its_depth():
    dag = line(600)
    for number, here in enumerate(dag.ids[1:], 1):
        assert dag.ids[lineage.jump_target_depth(number)] == dag.known[here].jump.target
