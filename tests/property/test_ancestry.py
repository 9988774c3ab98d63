"""Common ancestors and ways down against plain sets."""

from itertools import pairwise
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.objects import lineage
from tests.support.hypothesis_strategies import ordered_subsets
from tests.support.snapshot_graphs import SnapshotGraph


@st.composite
def dags(draw: st.DrawFn) -> SnapshotGraph:
    """A genesis and up to 40 snapshots, each on one to four of those before, some of forks."""
    dag = SnapshotGraph()
    brains = [[0]]
    spread = draw(st.sampled_from([1, 2, 4, 40]))
    most = draw(st.sampled_from([1, 2, 2, 4]))
    for number in range(1, draw(st.integers(1, 40))):
        if draw(st.integers(0, 15)) == 0:
            dag.add_fork(draw(st.integers(0, number - 1)))
            brains.append([number])
            continue
        brain = draw(st.sampled_from(brains))
        recent = tuple(brain[-spread:])
        dag.add(*draw(ordered_subsets(recent, min_size=1, max_size=most)))
        brain.append(number)
    return dag


PATIENCES = [0, 5, lineage._MAX_LINE_TESTS]


@pytest.mark.parametrize("patience", PATIENCES)
@given(dags(), st.data())
def test_the_merge_bases_are_the_common_ancestors_that_are_no_ancestors_of_another(
    patience, dag, data
):
    merges = data.draw(st.permutations(dag.merges()))
    for _ in range(6):
        a, b = (data.draw(st.sampled_from(dag.ids[-12:])) for _ in range(2))
        with patch.object(lineage, "_MAX_LINE_TESTS", patience):
            assert lineage.find_merge_bases(dag.load, merges, a, b) == dag.best_common_ancestors(
                a, b
            )


@given(dags())
def test_both_orders_give_the_same_bases(dag):
    for a in dag.ids[-6:]:
        for b in dag.ids[-6:]:
            there = lineage.find_merge_bases(dag.load, dag.merges(), a, b)
            assert there == lineage.find_merge_bases(dag.load, dag.merges(), b, a)


def descends(dag: SnapshotGraph, old: bytes, new: bytes) -> bool:
    """Tell by walking whether `new` descends from `old`, also across forks."""
    while True:
        found = dag.ancestors(new)
        if old in found:
            return True
        (genesis,) = (here for here in found if dag.known[here].is_genesis)
        new = dag.known[genesis].operation[2]
        if not new:
            return False


def steps(dag: SnapshotGraph, here: bytes) -> set[bytes]:
    """Return where a step of a way may lead."""
    made = dag.known[here]
    origin = {made.operation[2]} if made.is_genesis else set()
    return {*made.parents, made.jump.target, *origin} - {b""}


@given(dags())
def test_there_is_a_way_down_exactly_to_the_ancestors(dag):
    for new in dag.ids[-4:]:
        for old in dag.ids:
            way = lineage.find_descent_path(dag.load, old, new)
            assert (way is not None) == descends(dag, old, new)
            if way is not None:
                assert (way[0], way[-1]) == (new, old)
                assert all(there in steps(dag, here) for here, there in pairwise(way))
