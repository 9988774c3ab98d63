"""The brains and the lineage that the vectors of proofs are about."""

from typing import Any

from brain.digest import blob_id
from brain.objects import bundle as bundles
from brain.objects.tree_node import FILE, TreeEntry
from brain.proofs.proof_builder import build_descent_proof
from brain.proofs.proof_json import proof_to_json
from tests.support.recorded_snapshots import (
    FEW_PATHS,
    RecordedSnapshot,
    numbered_paths,
    record_snapshot,
)
from tests.support.snapshot_graphs import SnapshotGraph

Document = dict[str, Any]


SMALL = record_snapshot()
OTHER = record_snapshot(content="x")
WIDE = record_snapshot(["SOUL.md", *numbered_paths(400), "zz/z.md"], SMALL.id)
DEEP = record_snapshot(numbered_paths(4000), SMALL.id)
EIGHT = record_snapshot([f"skills/{number}" for number in range(8)])
NONE = record_snapshot([])


def _hollow() -> RecordedSnapshot:
    """Return a brain whose files are empty."""
    nodes = SMALL.nodes
    empty = [TreeEntry(path, FILE, blob_id(b""), 0) for path in FEW_PATHS]
    bundle = bundles.build_bundle(nodes, empty)
    return RecordedSnapshot(
        nodes, bundle, SMALL.snapshot._replace(bundle=bundles.bundle_id(bundle))
    )


HOLLOW = _hollow()


def between_nodes(brain: RecordedSnapshot, levels: int) -> Document:
    """Return a proof of absence whose neighbours have so many nodes each to themselves."""
    found = (brain.absence_proof(f"skills/{number:05}.me") for number in range(4000))
    return next(one for one in found if _openings(one["before"]["climb"]) == levels)


def _openings(climb: list[Any]) -> int:
    return sum(isinstance(one, dict) for one in climb)


def _dag() -> SnapshotGraph:
    """A line of 50, a side line from its snapshot 5, their merge (60), and a fork of that (61)."""
    dag = SnapshotGraph()
    for number in range(49):
        dag.add(number)
    dag.add(5)
    for number in range(50, 59):
        dag.add(number)
    dag.add(49, 59)
    dag.add_fork(60)
    for number in range(61, 70):
        dag.add(number)
    return dag


DAG = _dag()


def descent(old: int, new: int) -> Document:
    return proof_to_json(build_descent_proof(DAG.load, DAG.ids[old], DAG.ids[new]))
