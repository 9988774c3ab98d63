"""Derived data are rebuilt from the snapshots alone."""

from __future__ import annotations

from brain import Brain
from brain.actions import lineage_cache
from brain.objects import lineage, operation
from brain.objects import snapshot as snapshots
from brain.store.protocol import Kind
from tests.caches import forget

from .conftest import write


def merged(brain: Brain) -> tuple[bytes, int]:
    """Put a merge of the head with the genesis on a branch, behind the back of the cache."""
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
        tx.set_ref("heads/side", None, here)
    return here, merge.generation


def test_a_cache_that_was_lost_learns_every_merge_anew(brain: Brain) -> None:
    write(brain, "memory/a.md", "a\n")
    brain.snapshot()
    here = merged(brain)
    forget(brain)
    assert brain._session.cache.merges() == []
    write(brain, "memory/b.md", "b\n")
    brain.snapshot()
    assert lineage_cache.merges(brain._session) == [here]


def test_a_merge_that_another_wrote_is_learned_by_whoever_asks(brain: Brain) -> None:
    write(brain, "memory/a.md", "a\n")
    brain.snapshot()
    assert lineage_cache.merges(brain._session) == []
    here = merged(brain)
    assert lineage_cache.merges(brain._session) == [here]
    assert brain._session.cache.merges() == [here]
