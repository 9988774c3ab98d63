"""Derived data are rebuilt from the snapshots alone."""

from __future__ import annotations

from brain import Brain
from brain.objects import lineage, operation
from brain.objects import snapshot as snapshots
from brain.repo.read import lineage_cache
from brain.store.protocol import ObjectKind
from tests.integration.repo.conftest import skill_text, write_file
from tests.support.derived_data import drop_memory_cache


def merged(brain: Brain) -> tuple[bytes, int]:
    """Put a merge of the head with the genesis on a branch, behind the back of the cache."""
    session = brain._session
    head = session.head()
    below = session.load_snapshot(head)
    genesis = below.parents[0]
    merge = below._replace(
        parents=(head, genesis),
        generation=below.generation + 1,
        jump=lineage.next_jump(session.load_snapshot, head, below),
        operation=operation.merge_operation([genesis], []),
    )
    data = snapshots.encode_snapshot(merge)
    here = snapshots.snapshot_id(data)
    with session.store.transaction() as tx:
        tx.put_object(ObjectKind.SNAPSHOT, here, data)
        tx.update_ref("heads/side", None, here)
    return here, merge.generation


def test_a_cache_that_was_lost_learns_every_merge_anew(brain: Brain) -> None:
    write_file(brain, "memory/a.md", "a\n")
    brain.snapshot()
    here = merged(brain)
    drop_memory_cache(brain)
    assert brain._session.cache.list_merges() == []
    write_file(brain, "memory/b.md", "b\n")
    brain.snapshot()
    assert lineage_cache.list_merges(brain._session) == [here]


def test_a_merge_that_another_wrote_is_learned_by_whoever_asks(brain: Brain) -> None:
    write_file(brain, "memory/a.md", "a\n")
    brain.snapshot()
    assert lineage_cache.list_merges(brain._session) == []
    here = merged(brain)
    assert lineage_cache.list_merges(brain._session) == [here]
    assert brain._session.cache.list_merges() == [here]


def test_a_file_that_is_no_skill_hides_no_skill_that_was_recorded_with_it(brain: Brain) -> None:
    for path in ("skills/a/notes.md", "skills/m/deep/er/x.md", "skills/z.txt.md/y.md"):
        write_file(brain, path, "x\n")
    for slug in ("b", "n", "zz"):
        write_file(brain, f"skills/{slug}/SKILL.md", skill_text(slug, 3))
    head = brain.snapshot().snapshot
    for slug in ("b", "n", "zz"):
        rows = [(row.version, row.snapshot) for row in brain.skills.history(slug)]
        assert rows == [(3, head)]
