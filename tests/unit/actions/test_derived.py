"""Derived data are rebuilt from the snapshots alone."""

from __future__ import annotations

from brain import Brain
from brain.objects import lineage, operation
from brain.objects import snapshot as snapshots
from brain.store.protocol import Kind

from .conftest import write


def test_a_writer_that_rebuilds_derived_data_notes_every_merge(brain: Brain) -> None:
    write(brain, "memory/a.md", "a\n")
    brain.snapshot()
    session = brain._session
    head = session.head()
    below = session.load(head)
    genesis = below.parents[0]
    merge = below._replace(
        parents=(head, genesis),
        generation=below.generation + 1,
        jump=lineage.jump_after(session.load, head, below),
        operation=operation.merge([genesis], []),
    )
    data = snapshots.encode(merge)
    here = snapshots.snapshot_id(data)
    with session.store.transaction() as tx:
        tx.put(Kind.SNAPSHOT, here, data)
        tx.reset_derived(0)
    assert session.store.merges() == []
    write(brain, "memory/b.md", "b\n")
    brain.snapshot()
    assert session.store.merges() == [(here, merge.generation)]
