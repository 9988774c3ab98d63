"""Derived data are rebuilt from the snapshots alone."""

import pytest

from brain import Brain, NotFound, StoreError
from brain.objects import lineage, operation
from brain.objects import snapshot as snapshots
from brain.repo import derive, lineage_cache
from brain.repo.derived_db import CacheUnusable, DerivedCache
from brain.repo.session import Session
from brain.store.rows import ObjectKind
from tests.support.brains import skill_text, write_file
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


def test_a_cache_that_was_lost_learns_every_merge_anew(brain):
    write_file(brain, "memory/a.md", "a\n")
    brain.snapshot()
    here = merged(brain)
    drop_memory_cache(brain)
    assert brain._session.cache.list_merges() == []
    write_file(brain, "memory/b.md", "b\n")
    brain.snapshot()
    assert lineage_cache.list_merges(brain._session) == [here]


def test_a_merge_that_another_wrote_is_learned_by_whoever_asks(brain):
    write_file(brain, "memory/a.md", "a\n")
    brain.snapshot()
    assert lineage_cache.list_merges(brain._session) == []
    here = merged(brain)
    assert lineage_cache.list_merges(brain._session) == [here]
    assert brain._session.cache.list_merges() == [here]


def test_a_file_that_is_no_skill_hides_no_skill_that_was_recorded_with_it(brain):
    for path in ("skills/a/notes.md", "skills/m/deep/er/x.md", "skills/z.txt.md/y.md"):
        write_file(brain, path, "x\n")
    for slug in ("b", "n", "zz"):
        write_file(brain, f"skills/{slug}/SKILL.md", skill_text(slug, 3))
    head = brain.snapshot().snapshot
    for slug in ("b", "n", "zz"):
        rows = [(row.version, row.snapshot) for row in brain.skills.history(slug)]
        assert rows == [(3, head)]


@pytest.mark.parametrize(
    ("failures", "queries", "works"), [(0, 1, True), (1, 2, True), (2, 3, True), (3, 3, False)]
)
def test_a_cache_that_fails_is_asked_again_in_memory(brain, failures, queries, works):
    asked: list[DerivedCache] = []

    def query(cache: DerivedCache) -> str:
        asked.append(cache)
        if len(asked) <= failures:
            raise CacheUnusable("torn")
        return "answer"

    if works:
        assert lineage_cache.query_cache(brain._session, query) == "answer"
    else:
        with pytest.raises(StoreError) as caught:
            lineage_cache.query_cache(brain._session, query)
        assert caught.value.hint == "see `brain doctor`"
    assert len(asked) == queries
    assert len({id(cache) for cache in asked}) == queries
    assert all(cache.folder is None for cache in asked[1:])


def test_a_cache_that_is_replaced_meanwhile_is_not_asked(brain, monkeypatch):
    session = brain._session
    update, replaced = lineage_cache.update_lineage_cache, []

    def update_and_replace(updated: Session) -> None:
        update(updated)
        if len(replaced) < 3:
            replaced.append(session.cache)
            session.use_memory_cache()

    monkeypatch.setattr(lineage_cache, "update_lineage_cache", update_and_replace)
    assert lineage_cache.query_cache(session, lambda cache: cache) is session.cache
    assert len(replaced) == 3


@pytest.mark.parametrize("batch", [1, 2, 1000])
def test_a_lineage_is_cached_in_batches_and_a_broken_branch_hides_no_other(
    brain, monkeypatch, batch
):
    monkeypatch.setattr(lineage_cache, "_SNAPSHOTS_PER_BATCH", batch)
    for number in range(5):
        brain.skills.upsert("Oracle", f"{number}\n", description="d")
    brain.branches.create("idea")
    brain.skills.upsert("Oracle", "last\n")
    drop_memory_cache(brain)
    session = brain._session
    with session.store.transaction() as tx:
        tx.update_ref("heads/broken", None, b"\7" * 32)
    session.snapshots_in_cache.clear()
    assert [row.version for row in brain.skills.history("oracle")] == [6, 5, 4, 3, 2, 1]
    assert lineage_cache.is_cached(session, session.head())
    assert not lineage_cache.is_cached(session, b"\7" * 32)


def test_a_fork_is_cached_after_all_that_it_came_from(brain, tmp_path):
    for number in range(3):
        brain.skills.upsert("Oracle", f"{number}\n", description="d")
    brain.fork(tmp_path / "fork")
    with Brain.open(tmp_path / "fork") as fork:
        fork.skills.upsert("Oracle", "forked\n")
        fork.fork(tmp_path / "again")
    with Brain.open(tmp_path / "again") as again:
        again.skills.upsert("Oracle", "forked again\n")
        session = again._session
        session.use_memory_cache()
        session.snapshots_in_cache.clear()
        listed = lineage_cache._list_uncached(session, session.head())
        assert len(listed) == len(set(listed)) == 8
        for place, here in enumerate(listed):
            snapshot = session.load_snapshot(here)
            above = list(snapshot.parents)
            if snapshot.is_genesis and (origin := operation.fork_origin(snapshot.operation)):
                above.append(origin)
            assert set(above) <= set(listed[:place])


def test_what_one_reader_read_of_a_skill_the_next_does_not_read_again(brain, monkeypatch):
    brain.skills.upsert("Oracle", "Ask it.\n", description="d")
    brain._session.replace_cache()
    with Brain.open(brain.root) as reader:
        listed = reader.skills.list()

    def refuse(session: Session, blobs: list[bytes]) -> object:
        raise AssertionError("the cards are in the cache")

    monkeypatch.setattr(derive, "read_cards", refuse)
    with Brain.open(brain.root) as other:
        assert other.skills.list() == listed


def test_a_skill_that_a_large_restore_brings_back_is_found_by_its_name(brain, monkeypatch):
    paths = [f"skills/s{number}/SKILL.md" for number in range(4)]
    monkeypatch.setattr(derive, "MIN_BULK_PATHS", len(paths))
    for path in paths:
        write_file(brain, path, skill_text("Real name" if path == paths[0] else path[7:9]))
    undone = brain.snapshot().snapshot
    brain.undo()
    for path in paths:
        (brain.root / path).unlink()
    brain._session.replace_cache()
    with Brain.open(brain.root) as reader, pytest.raises(NotFound):
        reader.skills.view("real-name")
    with Brain.open(brain.root) as writer:
        writer.restore(undone)
    with Brain.open(brain.root) as other:
        assert other.skills.view("real-name").path == paths[0]


def test_what_a_writer_changed_the_next_reader_does_not_derive(brain, monkeypatch):
    brain.skills.upsert("Oracle", "One.\n", description="d")
    brain.skills.upsert("Oracle", "Two.\n")

    def refuse(*_: object) -> object:
        raise AssertionError("the snapshot is in the cache")

    monkeypatch.setattr(derive, "derive_snapshot", refuse)
    with Brain.open(brain.root) as other:
        assert [row.version for row in other.skills.history("oracle")] == [2, 1]
