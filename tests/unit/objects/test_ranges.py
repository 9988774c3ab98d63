import random

from brain.objects.lineage import walk_range
from tests.support.snapshot_graphs import SnapshotGraph


def random_dag(seed: int, size: int) -> SnapshotGraph:
    rng = random.Random(seed)
    dag = SnapshotGraph()
    for number in range(1, size):
        parents = rng.sample(range(number), k=min(number, rng.choice([1, 1, 1, 2, 3])))
        dag.add(*parents)
    return dag


def test_what_one_has_behind_it_and_another_has_not_is_as_by_sets():
    for seed in range(40):
        dag = random_dag(seed, 30)
        for new in dag.ids[::3]:
            for old in dag.ids[::4]:
                found = list(walk_range(dag.load, new, old))
                assert len(found) == len(set(found))
                assert set(found) == dag.ancestors(new) - dag.ancestors(old)


def test_without_another_all_ancestors_are_behind_and_children_come_first():
    dag = random_dag(7, 40)
    found = list(walk_range(dag.load, dag.ids[-1], None))
    assert set(found) == dag.ancestors(dag.ids[-1])
    place = {id: number for number, id in enumerate(found)}
    for id in found:
        assert all(place[parent] > place[id] for parent in dag.known[id].parents)


def test_nothing_is_behind_a_snapshot_that_it_has_not_itself():
    dag = random_dag(3, 10)
    assert list(walk_range(dag.load, dag.ids[-1], dag.ids[-1])) == []


def test_a_short_stretch_of_a_long_line_reads_only_that():
    dag = SnapshotGraph()
    for number in range(2000):
        dag.add(number)
    dag.loads.clear()
    assert len(list(walk_range(dag.load, dag.ids[-1], dag.ids[-11]))) == 10
    assert len(dag.loads) < 100
