"""Refs, the graph of snapshots and the operation log, checked through a reader that may lie."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from types import SimpleNamespace
from typing import Any

import pytest

from brain.digest import NO_DIGEST, blob_id
from brain.encoding import pack
from brain.errors import BrainError, NotFound
from brain.objects import lineage
from brain.objects.operation import genesis_operation
from brain.objects.snapshot import Jump, Snapshot
from brain.store.reader import chain_operation_id
from brain.store.rows import OperationRow
from brain.verify import graph_check
from brain.verify.graph_check import MAX_AHEAD_MS, MAX_CLOCK_SKEW_MS
from tests.support.snapshot_graphs import SnapshotGraph

OTHER = blob_id(b"another")
NOW = 10 * 365 * MAX_AHEAD_MS


class GraphSession:
    """A session over a graph of snapshots in memory, with what a reader would answer."""

    def __init__(self, graph: SnapshotGraph, **answers: Any) -> None:
        self.graph = graph
        self.missing: set[bytes] = set()
        self.reader = SimpleNamespace(
            **{"has_object": lambda id: id in self.graph.known, "list_refs": dict} | answers
        )

    def load_snapshot(self, snapshot_id: bytes) -> Snapshot:
        if snapshot_id in self.missing or snapshot_id not in self.graph.known:
            raise NotFound(f"{snapshot_id.hex()} is missing", code="missing_object")
        return self.graph.known[snapshot_id]

    def read_brain_id(self) -> bytes:
        return self.graph.ids[0]

    def current_branch(self) -> str:
        return "main"

    def timestamp_ms(self) -> int:
        return NOW

    def position(self, here: bytes, snapshot: Snapshot) -> list[tuple[str, str]]:
        """Return code and severity of what is wrong with a snapshot."""
        found = list(graph_check.check_graph_position(self, here, snapshot))  # type: ignore[arg-type]
        assert {finding.snapshot for finding in found} <= {here.hex()}
        return [(finding.code, finding.severity) for finding in found]


@pytest.fixture
def graph():
    """A line of three, a side line of two from its first, and their merge, numbered 5."""
    made = SnapshotGraph()
    made.add(0)
    made.add(1)
    made.add(0)
    made.add(3)
    made.add(2, 4)
    return made


def test_a_jump_that_is_false_is_described_with_the_true_one(graph):
    made = graph.known[graph.ids[2]]
    forged = made._replace(jump=Jump(7, OTHER))
    (found,) = graph_check.check_graph_position(GraphSession(graph), OTHER, forged)  # type: ignore[arg-type]
    assert found.message == (
        f"it jumps from depth 7 to {OTHER.hex()[:12]}, "
        f"not from {made.jump.depth} to {made.jump.target.hex()[:12]}"
    )


@pytest.mark.parametrize(
    ("late", "expected"),
    [(0, []), (MAX_CLOCK_SKEW_MS, []), (MAX_CLOCK_SKEW_MS + 1, [("time_backwards", "warning")])],
)
@pytest.mark.parametrize("older_parent", [0, 1])
def test_a_snapshot_may_be_five_minutes_older_than_its_latest_parent(
    graph, late, expected, older_parent
):
    merge = graph.known[graph.ids[5]]
    for place, parent in enumerate(merge.parents):
        time = 1_000_000 if place == older_parent else 2_000_000
        graph.known[parent] = graph.known[parent]._replace(time=time)
    forged = merge._replace(time=2_000_000 - late)
    assert GraphSession(graph).position(OTHER, forged) == expected


def test_clocks_may_be_apart_by_five_minutes_and_ahead_by_a_day():
    assert (MAX_CLOCK_SKEW_MS, MAX_AHEAD_MS) == (300_000, 86_400_000)


def test_the_seconds_by_which_a_snapshot_is_too_old_are_named(graph):
    parent = graph.ids[1]
    graph.known[parent] = graph.known[parent]._replace(time=1_000_000)
    forged = graph.known[graph.ids[2]]._replace(time=400_000)
    (found,) = graph_check.check_graph_position(GraphSession(graph), OTHER, forged)  # type: ignore[arg-type]
    assert found.message == "its time is 600 s before that of its parent"


@pytest.mark.parametrize(
    ("ahead", "message"),
    [
        (MAX_AHEAD_MS, None),
        (MAX_AHEAD_MS + 1, "its time is 1 days ahead of the clock of this machine"),
        (3 * MAX_AHEAD_MS, "its time is 3 days ahead of the clock of this machine"),
    ],
)
def test_a_snapshot_may_be_a_day_ahead_of_the_clock(graph, ahead, message):
    forged = graph.known[graph.ids[2]]._replace(time=NOW + ahead)
    found = list(graph_check.check_graph_position(GraphSession(graph), OTHER, forged))  # type: ignore[arg-type]
    assert [finding.message for finding in found] == ([message] if message else [])


def test_an_import_keeps_the_times_of_its_source(graph):
    forged = graph.known[graph.ids[2]]._replace(time=NOW * 2, operation=("import", "git", "x", ""))
    assert GraphSession(graph).position(OTHER, forged) == []


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("stored", []),
        ("elsewhere", []),
        ("another bundle", [("bad_origin", "error")]),
        ("unreadable", [("missing_object", "error")]),
    ],
)
def test_a_fork_begins_with_the_bundle_of_its_origin_if_that_is_stored(graph, origin, expected):
    start = graph.ids[5]
    session = GraphSession(graph)
    if origin == "another bundle":
        graph.known[start] = graph.known[start]._replace(bundle=OTHER)
    if origin == "unreadable":
        session.missing.add(start)
    first = genesis_operation(bytes(16), OTHER if origin == "elsewhere" else start)
    forked = graph.known[graph.ids[0]]._replace(operation=first)
    assert session.position(graph.ids[0], forked) == expected


def walk(session: GraphSession, *starts: int | bytes) -> list[tuple[bytes, str]]:
    """Return the ids that a walk yields, in order, with the code of an error."""
    ids = [start if isinstance(start, bytes) else session.graph.ids[start] for start in starts]
    return [
        (here, found.code if isinstance(found, BrainError) else "")
        for here, found in graph_check.walk_reachable(session, ids)  # type: ignore[arg-type]
    ]


@pytest.mark.parametrize(
    ("parents", "operation", "expected"),
    [
        ((2, 4), lambda ids: ("merge", (ids[0],), ()), []),
        ((2, 4), lambda ids: ("merge", (ids[1],), ()), ["bad_bases"]),
        ((2, 4), lambda ids: ("merge", (), ()), ["bad_bases"]),
        ((2, 4), lambda ids: ("graft",), []),
        ((2,), lambda ids: ("merge", (), ()), []),
    ],
)
def test_a_merge_names_the_best_common_ancestors(graph, parents, operation, expected):
    here = graph.add(*parents)
    graph.known[here] = graph.known[here]._replace(operation=operation(graph.ids))
    check = graph_check.MergeBaseCheck(GraphSession(graph))  # type: ignore[arg-type]
    for snapshot_id in reversed(graph.ids):
        check.add_snapshot(snapshot_id, graph.known[snapshot_id])
    found = list(check.findings())
    assert [finding.code for finding in found] == expected
    for finding in found:
        assert finding.snapshot == here.hex()
        assert finding.message.endswith(f"others: {graph.ids[0].hex()[:12]}")


def test_a_merge_over_an_ancestor_that_is_missing_hides_no_other_merge(graph):
    graph.add(0)
    first, second = graph.add(6, 3), graph.add(1, 3)
    for here in (first, second):
        graph.known[here] = graph.known[here]._replace(operation=("merge", (OTHER,), ()))
    session = GraphSession(graph)
    check = graph_check.MergeBaseCheck(session)  # type: ignore[arg-type]
    for here in (first, second):
        check.add_snapshot(here, graph.known[here])
    session.missing.add(graph.ids[6])
    assert [finding.snapshot for finding in check.findings()] == [second.hex()]


class Log:
    """An operation log, newest first, and the refs that its end leaves."""

    def __init__(self) -> None:
        self.rows: list[OperationRow] = []
        self.refs: dict[str, bytes] = {}

    def append(self, *moves: tuple[str, bytes]) -> Log:
        refs = tuple((name, self.refs.get(name, b""), new) for name, new in moves)
        data = pack((0, "tester", "snapshot", "x", refs, (b"", b""), 0))
        previous = self.rows[0].id if self.rows else NO_DIGEST
        row = OperationRow(len(self.rows) + 1, chain_operation_id(previous, data), data)
        self.rows.insert(0, row)
        self.refs = {name: at for name, at in {**self.refs, **dict(moves)}.items() if at}
        return self

    def session(self) -> Any:
        return GraphSession(
            SnapshotGraph(), list_refs=lambda: self.refs, stream_operations=lambda: iter(self.rows)
        )

    def codes(self) -> list[str]:
        found = list(graph_check.check_operation_log(self.session()))
        assert {finding.severity for finding in found} <= {"error"}
        return [finding.code for finding in found]

    def messages(self) -> str:
        return "\n".join(f.message for f in graph_check.check_operation_log(self.session()))


A, B, C = (blob_id(name) for name in (b"a", b"b", b"c"))


@pytest.fixture
def log():
    made = Log().append(("heads/main", A)).append(("heads/main", B), ("heads/idea", A))
    return made.append(("heads/idea", b"")).append(("heads/main", C))


def test_a_ref_that_is_elsewhere_than_the_log_left_it_is_named(log):
    log.refs["heads/main"] = A
    assert log.codes() == ["ref_mismatch"]
    assert log.messages() == f"operation 4 left heads/main at {C.hex()[:12]}, but it is elsewhere"


def test_a_ref_that_no_operation_set_is_named(log):
    log.refs["tags/v1"] = A
    assert log.messages() == f"no operation set tags/v1 to {A.hex()[:12]}"


def test_operations_logged_after_the_refs_were_read_are_left_out(log):
    later = Log()
    later.rows, later.refs = list(log.rows), dict(log.refs)
    later.append(("heads/main", A))
    reads: Iterator[list[OperationRow]] = iter([log.rows, log.rows])
    session = log.session()
    session.reader.stream_operations = lambda: iter(next(reads, later.rows))
    assert list(graph_check.check_operation_log(session)) == []


def test_the_first_operation_is_left_out_if_it_is_logged_after_the_refs_were_read():
    session, rows = Log().session(), iter([[], []])
    first = Log().append(("heads/main", A))
    session.reader.stream_operations = lambda: iter(next(rows, first.rows))
    assert list(graph_check.check_operation_log(session)) == []


def test_false_generations_do_not_make_a_walk_go_the_same_ways_again_and_again():
    graph = SnapshotGraph()
    top = 0
    for _ in range(24):  # diamonds: there are 2^24 ways from the last snapshot to the first
        graph.add(top)
        graph.add(top)
        graph.add(len(graph.ids) - 2, len(graph.ids) - 1)
        top = len(graph.ids) - 1
    for number, here in enumerate(graph.ids):  # the order upside down
        graph.known[here] = graph.known[here]._replace(generation=1000 - number)
    session: Any = GraphSession(graph)
    for walk in (
        graph_check.walk_reachable(session, [graph.ids[top]]),
        lineage.walk_ancestors(graph.load, graph.ids[top]),
    ):
        steps = [here for here, _ in islice(walk, 4 * len(graph.ids))]
        assert set(steps) == set(graph.ids) and len(steps) <= 2 * len(graph.ids)
