"""Lineages against plain walking and plain sets."""

import random
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain.objects import lineage
from brain.repo import lineage_cache
from tests.support.hypothesis_strategies import ordered_subsets
from tests.support.snapshot_graphs import SnapshotGraph


@st.composite
def dags(draw: st.DrawFn) -> SnapshotGraph:
    """A genesis and up to 60 snapshots, each on one to three of those before."""
    dag = SnapshotGraph()
    for size in range(1, draw(st.integers(1, 60))):
        recent = range(max(0, size - draw(st.sampled_from([1, 3, 60]))), size)
        dag.add(*draw(ordered_subsets(recent, min_size=1, max_size=3)))
    return dag


@given(dags())
def test_generations_exceed_those_of_all_parents_and_depths_follow_the_first(dag):
    for here in dag.ids[1:]:
        found = dag.known[here]
        parents = [dag.known[parent] for parent in found.parents]
        assert found.generation == 1 + max(parent.generation for parent in parents)
        assert found.jump.depth == 1 + parents[0].jump.depth
        assert found.jump.depth == len(dag.first_parents(here)) - 1


@given(dags())
def test_a_jump_leads_to_an_ancestor_on_the_line_of_first_parents(dag):
    for here in dag.ids[1:]:
        assert dag.known[here].jump.target in dag.first_parents(here)[1:]


@given(dags())
def test_the_ancestor_at_a_depth_is_the_one_that_walking_finds(dag):
    here = dag.ids[-1]
    line = dag.first_parents(here)[::-1]
    for depth in range(len(line)):
        assert lineage.find_ancestor_at(dag.load, here, depth) == line[depth]
    assert lineage.find_ancestor_at(dag.load, here, len(line)) is None
    assert lineage.find_ancestor_at(dag.load, here, -1) is None


@given(dags())
def test_an_ancestor_is_what_a_set_of_ancestors_holds(dag):
    for new in dag.ids[:: max(1, len(dag.ids) // 8)]:
        ancestors = dag.ancestors(new)
        for old in dag.ids:
            assert lineage.is_ancestor(dag.load, old, new) == (old in ancestors)


@given(dags(), st.randoms(use_true_random=False))
def test_a_set_of_ancestors_answers_alike_in_any_order(dag, source):
    session = SimpleNamespace(load_snapshot=dag.load, note_resolved=lambda _: None)
    with patch.object(lineage_cache, "list_merges", lambda _: dag.merges()):
        for new in dag.ids[:: max(1, len(dag.ids) // 4)]:
            found = lineage_cache.AncestorSet(session, new)
            asked = dag.ids * 2
            source.shuffle(asked)
            ancestors = dag.ancestors(new)
            for old in asked:
                assert (old in found) == (old in ancestors)


@given(dags())
def test_history_yields_every_ancestor_once_and_children_before_parents(dag):
    here = dag.ids[-1]
    order = [snapshot_id for snapshot_id, _ in lineage.walk_ancestors(dag.load, here)]
    assert len(order) == len(set(order))
    assert set(order) == dag.ancestors(here)
    place = {snapshot_id: number for number, snapshot_id in enumerate(order)}
    for snapshot_id in order:
        assert all(place[parent] > place[snapshot_id] for parent in dag.known[snapshot_id].parents)


@settings(max_examples=5)
@given(st.integers(0, 2**32))
def test_any_ancestor_among_thousands_is_reached_in_a_few_loads(seed):
    dag = SnapshotGraph()
    for number in range(3000):
        dag.add(number)
    chooser = random.Random(seed)
    for _ in range(40):
        start, depth = sorted(chooser.sample(range(3000), 2), reverse=True)
        dag.loads.clear()
        assert lineage.find_ancestor_at(dag.load, dag.ids[start], depth) == dag.ids[depth]
        assert len(dag.loads) <= 4 * start.bit_length()


@pytest.mark.parametrize("depth", [0, 1, 2, 2998, 2999])
def test_the_ends_of_a_long_line_are_reached_too(depth):
    dag = SnapshotGraph()
    for number in range(3000):
        dag.add(number)
    assert lineage.find_ancestor_at(dag.load, dag.ids[-1], depth) == dag.ids[depth]


def test_appending_to_a_line_of_thousands_loads_at_most_two_snapshots():
    dag = SnapshotGraph()
    for number in range(2000):
        dag.loads.clear()
        dag.add(number)
        assert len(dag.loads) <= 2
