"""The snapshots that close runs are looked for no further than they can be."""

from types import SimpleNamespace

import pytest

from brain.repo.read.read_receipts import find_closing_snapshots
from tests.support.snapshot_graphs import SnapshotGraph


@pytest.fixture
def graph():
    """A line of 60, in which 30 and 40 close the run `a`, and 50 closes `b`."""
    made = SnapshotGraph()
    for number in range(59):
        made.add(number)
    for number, run in ((30, "a"), (40, "a"), (50, "b")):
        here = made.ids[number]
        made.known[here] = made.known[here]._replace(operation=("task", run, "success"))
    made.loads.clear()
    return made


def closing(graph: SnapshotGraph, since: int, *runs: str) -> tuple[dict[str, int], int]:
    """Return the numbers of the snapshots that close these runs, and how many were read."""
    session = SimpleNamespace(load_snapshot=graph.load)
    graph.loads.clear()
    found = find_closing_snapshots(session, graph.ids[-1], set(runs), since)  # type: ignore[arg-type]
    assert all(graph.known[here] == snapshot for here, snapshot in found.values())
    numbers = {run: graph.ids.index(here) for run, (here, _) in found.items()}
    return numbers, len(set(graph.loads))


def test_the_latest_snapshot_that_closes_a_run_is_found(graph):
    assert closing(graph, 0, "a", "b")[0] == {"a": 40, "b": 50}
    assert closing(graph, 0, "b", "c")[0] == {"b": 50}


@pytest.mark.parametrize(("since", "expected"), [(39, {"a": 40}), (40, {}), (41, {})])
def test_only_snapshots_after_a_generation_count(graph, since, expected):
    assert closing(graph, since, "a")[0] == expected


def test_no_more_is_read_than_is_needed(graph):
    assert closing(graph, 0) == ({}, 0)
    assert closing(graph, 0, "b")[1] <= 12
    assert closing(graph, 55, "a")[1] <= 7
    assert closing(graph, 0, "c")[1] == 60
