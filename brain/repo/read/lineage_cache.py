"""The lineage cache: which skills each snapshot changed, and which snapshots are merges.

Of each snapshot it knows which skills it changed and whether it is a merge: functions of
the snapshot alone. A snapshot is learned after its parents, so knowing one is knowing all
behind it. A cache may be shared with copies of the brain: what it knows of snapshots that
are not in this store is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import TypeVar

from ...cache.derived_cache import (
    CacheUnusable,
    DerivedCache,
    DerivedSnapshot,
    SkillHistoryRow,
    StagedDerivation,
)
from ...digest import NO_DIGEST
from ...errors import FormatError, NotFound, StoreError
from ...objects import bundle as bundles
from ...objects import operation
from ...objects.bundle import Bundle
from ...objects.snapshot import Snapshot
from ...objects.tree_diff import Difference
from ...objects.tree_entry import LINK, TreeEntry
from ..open.session import Session, head_ref
from . import skill_rows
from .skill_rows import BULK_PATH, CHANGED

_CARDS_PER_BATCH = 4096
"""Cards that are read together."""
_SNAPSHOTS_PER_BATCH = 256
"""Snapshots that the cache learns together."""
_FORK_RANK_BITS = 49
"""More than a generation has: what a fork came from stands before all of the fork."""

T = TypeVar("T")


def stage_snapshot(
    session: Session,
    snapshot_id: bytes,
    snapshot: Snapshot,
    before: Bundle,
    after: Bundle,
    edits: Mapping[str, TreeEntry | None],
) -> None:
    """Stage for the cache which skills the edits of a new snapshot changed."""
    changed = [
        Difference(path, was, entry)
        for path, entry in edits.items()
        if skill_rows.may_be_skill(path)
        and (was := bundles.get_entry(session.nodes, before, path) if before else None) != entry
    ]
    changed += _find_reclassified(session, after, changed)
    if len(changed) >= skill_rows.MIN_BULK_PATHS and snapshot.operation[0] == "restore":
        _note_declared_names(session, changed)  # which were not read for this snapshot
    learned = _make_cache_entry(session, snapshot_id, snapshot, before, after, changed)
    session.staged_updates[snapshot_id] = StagedDerivation(learned, before, after, changed)


def _make_cache_entry(
    session: Session,
    snapshot_id: bytes,
    snapshot: Snapshot,
    before: Bundle,
    after: Bundle,
    changed: list[Difference],
) -> DerivedSnapshot:
    """Return what the cache learns of a snapshot: each changed skill, or that very many did.

    What the latter did to one skill is looked up when its history is asked for.
    """
    generation = snapshot.generation
    merge = generation if len(snapshot.parents) > 1 else None
    if len(changed) < skill_rows.MIN_BULK_PATHS:
        sides = skill_rows.build_skill_predicates(session, before, after, changed)
        return DerivedSnapshot(
            snapshot_id,
            list(skill_rows.build_skill_rows(session, snapshot_id, generation, changed, *sides)),
            (),
            merge,
        )
    row = SkillHistoryRow(BULK_PATH, snapshot_id, generation, CHANGED, "", ())
    names = [
        (slug, path)
        for path, _, now in changed
        if now
        for slug in skill_rows.nonstandard_slugs(path, session.declared_names.get(now.blob, ""))
    ]
    return DerivedSnapshot(snapshot_id, [row], names, merge)


def _find_reclassified(
    session: Session, after: Bundle, changed: list[Difference]
) -> list[Difference]:
    """Return what became a skill, or is none any more, though the file did not change."""
    known = {path for path, _, _ in changed}
    found = skill_rows.find_reclassified(session, after, changed, known)
    return [one for one in found if skill_rows.may_be_skill(one.path)]


def is_redaction(session: Session, snapshot_id: bytes) -> bool:
    """Tell whether a snapshot says that content was destroyed."""
    return bool(session.load_snapshot(snapshot_id).operation[0] == "redact")


def clear_derived_data(session: Session) -> None:
    """Clear the cache, which may know of what is to be nowhere."""
    session.clear_cache()
    session.new_cards.clear()


def is_cached(session: Session, snapshot_id: bytes) -> bool:
    """Tell whether the cache knows a snapshot, and so all behind it."""
    if snapshot_id not in session.snapshots_in_cache:
        if not session.cache.has_snapshot(snapshot_id):
            return False
        session.snapshots_in_cache.add(snapshot_id)
    return True


def query_cache(session: Session, query: Callable[[DerivedCache], T]) -> T:
    """Return what `use` makes of the cache, brought up to date with the lineages in the store.

    If the file of the cache fails, all is made anew in memory; if another process redacts
    something meanwhile, in the cache that takes its place.
    """
    failed = 0
    while failed < 2:
        cache = session.cache
        try:
            update_lineage_cache(session)
            if session.cache is cache:
                return query(cache)
        except CacheUnusable:
            session.use_memory_cache()
            failed += 1
    raise StoreError("the cache cannot be used", hint="see `brain doctor`")


def update_lineage_cache(session: Session) -> None:
    """Let the cache learn every snapshot behind the refs, and behind what was asked about.

    What cannot be read behind another ref than that of the current branch is left out: it
    is a finding of `verify`, and no reason to refuse what has nothing to do with it.
    """
    refs = session.reader.list_refs()
    current = refs.get(head_ref((session.reader.read_meta("branch") or b"").decode()))
    roots = {*refs.values(), *session.resolved_snapshots, *session.staged_updates}
    for root in roots - session.snapshots_in_cache:
        if is_cached(session, root):
            continue
        if root == current:
            cache_lineage(session, root)
        else:
            with suppress(NotFound, StoreError, FormatError):
                cache_lineage(session, root)


def cache_lineage(session: Session, root: bytes) -> None:
    """Let the cache learn a snapshot and all behind it.

    It stops if another cache takes its place, which would know some and not their parents.
    """
    cache = session.cache
    if is_cached(session, root):
        return
    new = _list_uncached(session, root)
    for start in range(0, len(new), _SNAPSHOTS_PER_BATCH):
        some = new[start : start + _SNAPSHOTS_PER_BATCH]
        found = [build_cache_entry(session, here) for here in some]
        if session.cache is not cache:
            return
        with cache.transaction():
            cache.put_snapshots(found)
        skill_rows.write_staged_cards(session)
        session.snapshots_in_cache.update(some)
        session.report_progress("history of skills", start + len(some), len(new))


def _list_uncached(session: Session, root: bytes) -> list[bytes]:
    """Return a snapshot and those behind it that the cache does not know, parents first.

    A fork goes on at what it came from, where that is here.
    """
    new: dict[bytes, int] = {}
    left = [(root, 0)]
    while left:
        here, forks = left.pop()
        if here in new or is_cached(session, here):
            continue
        snapshot = session.load_snapshot(here)
        new[here] = snapshot.generation - (forks << _FORK_RANK_BITS)
        left += [(parent, forks) for parent in snapshot.parents]
        origin = operation.fork_origin(snapshot.operation) if snapshot.is_genesis else NO_DIGEST
        if origin and session.reader.has_object(origin):
            left.append((origin, forks + 1))
    return sorted(new, key=new.__getitem__)


def build_cache_entry(session: Session, here: bytes) -> DerivedSnapshot:
    """Return what the cache has to know of a stored snapshot, from its tree and its parent's."""
    staged = session.staged_updates.get(here)
    if staged is not None:
        return staged.derived
    snapshot = session.load_snapshot(here)
    if (snapshot.brain or here) != session.brain_id():  # of what a fork came from
        generation = snapshot.generation
        return DerivedSnapshot(here, [], (), generation if len(snapshot.parents) > 1 else None)
    after = session.load_bundle(snapshot.bundle)
    before = session.bundle_of(snapshot.parents[0]) if snapshot.parents else bundles.EMPTY_BUNDLE
    changed = list(_diff_skill_paths(session, before, after))
    changed += _find_reclassified(session, after, changed)
    if len(changed) >= skill_rows.MIN_BULK_PATHS:
        _note_declared_names(session, changed)
    found = _make_cache_entry(session, here, snapshot, before, after, changed)
    return found._replace(rows=_restore_redacted_version(session, snapshot, changed, found.rows))


def build_brief_cache_entry(session: Session, here: bytes) -> DerivedSnapshot:
    """Return what `learned_of` does, but for the names of very many skills, at little cost."""
    snapshot = session.load_snapshot(here)
    if (snapshot.brain or here) == session.brain_id():
        after = session.load_bundle(snapshot.bundle)
        before = (
            session.bundle_of(snapshot.parents[0]) if snapshot.parents else bundles.EMPTY_BUNDLE
        )
        changed = list(islice(_diff_skill_paths(session, before, after), skill_rows.MIN_BULK_PATHS))
        if len(changed) == skill_rows.MIN_BULK_PATHS:
            return _make_cache_entry(session, here, snapshot, before, after, changed)._replace(
                extra_names=()
            )
    return build_cache_entry(session, here)


def _diff_skill_paths(session: Session, before: Bundle, after: Bundle) -> Iterator[Difference]:
    """Yield what differs of what may be a skill."""
    for difference in bundles.diff_bundles(session.nodes, before, after):
        if skill_rows.may_be_skill(difference.path):
            yield difference


def _restore_redacted_version(
    session: Session, snapshot: Snapshot, changed: list[Difference], rows: list[SkillHistoryRow]
) -> list[SkillHistoryRow]:
    """Take the version of a skill whose content was redacted from the operation that wrote it.

    So no version is given a second time.
    """
    new = {pair.after.blob: pair.path for pair in changed if pair.after}
    gone = (
        session.reader.find_redactions(list(new))
        if len(changed) < skill_rows.MIN_BULK_PATHS
        else {}
    )
    number = operation.written_version(snapshot.operation)
    if len(gone) != 1 or not number:
        return rows
    path = new[next(iter(gone))]
    return [row._replace(version=number) if row.path == path else row for row in rows]


def _note_declared_names(session: Session, changed: list[Difference]) -> None:
    found = {d.after.blob: d.path for d in changed if d.after and d.after.kind != LINK}
    blobs = list(found)
    for start in range(0, len(blobs), _CARDS_PER_BATCH):
        some = skill_rows.load_cards(session, blobs[start : start + _CARDS_PER_BATCH])
        for blob, card in some.items():
            skill_rows.note_declared_name(session, found[blob], blob, card.name)
        session.report_progress("skills", min(start + _CARDS_PER_BATCH, len(blobs)), len(blobs))


def read_skill_rows(
    session: Session, path: str, version: str | None = None
) -> Iterator[SkillHistoryRow]:
    """Yield what changed the skill at a full path, in any lineage here; see `Cache.history`.

    What the cache knows of snapshots that are not in this store is left out.
    """
    found, many = query_cache(
        session,
        lambda cache: (
            cache.read_skill_history(path, version),
            cache.read_skill_history(BULK_PATH),
        ),
    )
    here = filter_stored(session, [row.snapshot for row in (*found, *many)])
    yield from (row for row in found if row.snapshot in here)
    for bulk in many:
        if bulk.snapshot not in here:
            continue
        snapshot = session.load_snapshot(bulk.snapshot)
        after = session.load_bundle(snapshot.bundle)
        before = (
            session.bundle_of(snapshot.parents[0]) if snapshot.parents else bundles.EMPTY_BUNDLE
        )
        was = bundles.get_entry(session.nodes, before, path)
        now = bundles.get_entry(session.nodes, after, path)
        if was != now or (was and path.count("/") == 2):  # see `derived.unsettled`
            changed = [Difference(path, was, now)]
            sides = (
                skill_rows.build_skill_predicate(session, before, changed),
                skill_rows.build_skill_predicate(session, after, changed),
            )
            yield from skill_rows.build_skill_rows(
                session, bulk.snapshot, bulk.generation, changed, *sides
            )


def list_bulk_changes(session: Session) -> list[SkillHistoryRow]:
    """Return the rows of the snapshots here that changed very many skills at once."""
    found = query_cache(session, lambda cache: cache.read_skill_history(BULK_PATH))
    here = filter_stored(session, [row.snapshot for row in found])
    return [row for row in found if row.snapshot in here]


def count_additions(session: Session, paths: Iterable[str]) -> list[int]:
    """Return how often a skill was added at each path, by snapshots that changed few skills."""
    return query_cache(
        session, lambda cache: [len(cache.read_skill_history(path, "")) for path in paths]
    )


def filter_stored(session: Session, snapshots: Iterable[bytes]) -> set[bytes]:
    """Return those of some snapshots that are in the store: a cache may know of others.

    Raises `NotFound` if one was taken out of a lineage that is asked about.
    """
    wanted = set(snapshots)
    absent = session.reader.find_missing({one for one in wanted if not session.has_loaded(one)})
    if absent:
        _refuse_missing_ancestors(session)
    return wanted - absent


def _refuse_missing_ancestors(session: Session) -> None:
    """See that nothing is missing behind the head and what was asked about."""
    asked_about = set(session.resolved_snapshots) - session.reader.find_missing(
        session.resolved_snapshots
    )
    left, seen = [session.head(), *asked_about], set(session.complete_snapshots)
    while left:
        here = left.pop()
        if here not in seen:
            seen.add(here)
            left += session.load_snapshot(here).parents
    session.complete_snapshots = seen


def list_skill_changes(session: Session) -> list[tuple[str, bytes]]:
    """Return (path, snapshot) of all that is in the histories of skills."""
    return query_cache(session, DerivedCache.list_skill_changes)


def find_nonstandard_paths(session: Session, slug: str) -> list[str]:
    """Return the unusual paths at which a skill of that slug ever was, sorted."""
    return query_cache(session, lambda cache: cache.find_skill_paths(slug))


def list_merges(session: Session) -> list[tuple[bytes, int]]:
    """Return (snapshot, generation) of the snapshots with several parents, in any order."""
    found = query_cache(session, DerivedCache.list_merges)
    here = filter_stored(session, [snapshot for snapshot, _ in found])
    return [row for row in found if row[0] in here]
