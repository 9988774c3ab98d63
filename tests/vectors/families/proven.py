"""The brains and the lineage that the vectors of proofs are about."""

from __future__ import annotations

from typing import Any

from brain.digest import blob_id
from brain.objects import bundle as bundles
from brain.objects.entry import FILE, Entry
from brain.proofs.build import descent_proof
from brain.proofs.document import as_json
from tests.dags import Dag
from tests.proving import FEW, Recorded, numbered, recorded

Document = dict[str, Any]


SMALL = recorded()
OTHER = recorded(content="x")
WIDE = recorded(["SOUL.md", *numbered(400), "zz/z.md"], SMALL.id)
DEEP = recorded(numbered(4000), SMALL.id)
EIGHT = recorded([f"skills/{number}" for number in range(8)])
NONE = recorded([])


def _hollow() -> Recorded:
    """Return a brain whose files are empty."""
    nodes = SMALL.nodes
    empty = [Entry(path, FILE, blob_id(b""), 0) for path in FEW]
    bundle = bundles.build(nodes, empty)
    return Recorded(nodes, bundle, SMALL.snapshot._replace(bundle=bundles.bundle_id(bundle)))


HOLLOW = _hollow()


def between_nodes(brain: Recorded, levels: int) -> Document:
    """Return a proof of absence whose neighbours have so many nodes each to themselves."""
    found = (brain.absence(f"skills/{number:05}.me") for number in range(4000))
    return next(one for one in found if _openings(one["before"]["climb"]) == levels)


def _openings(climb: list[Any]) -> int:
    return sum(isinstance(one, dict) for one in climb)


def _dag() -> Dag:
    """A line of 50, a side line from its snapshot 5, their merge (60), and a fork of that (61)."""
    dag = Dag()
    for number in range(49):
        dag.add(number)
    dag.add(5)
    for number in range(50, 59):
        dag.add(number)
    dag.add(49, 59)
    dag.fork(60)
    for number in range(61, 70):
        dag.add(number)
    return dag


DAG = _dag()


def descent(old: int, new: int) -> Document:
    return as_json(descent_proof(DAG.load, DAG.ids[old], DAG.ids[new]))
