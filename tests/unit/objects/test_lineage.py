import pytest

from brain.errors import NotFound
from brain.objects import lineage
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
