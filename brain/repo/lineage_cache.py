"""The lineage cache: what each snapshot changed and decided about skills, and which are merges.

All of it follows from the snapshot alone. A snapshot is cached after its parents, so if one is
cached, all its ancestors are. Copies of the brain may share a cache: rows of snapshots that
are not in this store are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import TypeVar

from ..digest import NO_DIGEST
from ..errors import FormatError, NotFound, StoreError
from ..objects import lineage, operation
from ..objects.snapshot import Snapshot
from ..objects.tree import Difference
from ..objects.tree_node import TreeEntry
from ..skills.skill_metadata import SkillMetadata, encode_skill_metadata, read_skill_metadata
from . import derive
from .derive import BULK_PATH, find_cards, note_declared_name
from .derived_db import (
    MERGES,
    CacheUnusable,
    DecisionRow,
    DerivedCache,
    Fact,
    SkillHistoryRow,
    decode_decision,
    decode_skill_row,
)
from .session import BrainState, Session, StagedDerivation, head_ref

MAX_CHANGED_PATHS = 2000
"""With more changed paths, the lines of the index are built from all cards."""
_SNAPSHOTS_PER_BATCH = 256
_FORK_RANK_BITS = 49
"""More bits than a generation has: the origin of a fork sorts before all of the fork."""

T = TypeVar("T")


def stage_snapshot(
    snapshot_id: bytes,
    snapshot: Snapshot,
    before: BrainState,
    after: BrainState,
    edits: Mapping[str, TreeEntry | None],
) -> None:
    """Stage for the cache which skills the edits of a new snapshot changed."""
    changed = [
        Difference(path, was, entry)
        for path, entry in edits.items()
        if derive.may_be_skill(path) and (was := before.get(path)) != entry
    ]
    known = {path for path, _, _ in changed}
    changed += derive.find_reclassified(before, after, changed, known)
    if len(changed) >= derive.MIN_BULK_PATHS and snapshot.operation[0] == "restore":
        derive.note_declared_names(after.session, changed)  # they were not read for this snapshot
    learned = derive.derive_from_changes(snapshot_id, snapshot, before, after, changed)
    del changed[MAX_CHANGED_PATHS + 1 :]  # to free memory: more are not looked at
    after.session.staged_updates[snapshot_id] = StagedDerivation(learned, before, after, changed)


def is_cached(session: Session, snapshot_id: bytes) -> bool:
    """Tell whether a snapshot is cached, and so all its ancestors."""
    if snapshot_id not in session.snapshots_in_cache:
        if not session.cache.has_snapshot(snapshot_id):
            return False
        session.snapshots_in_cache.add(snapshot_id)
    return True


def query_cache(session: Session, query: Callable[[DerivedCache], T]) -> T:
    """Return the result of `query` on the cache, after updating it to the store's lineages.

    If the cache file fails, all is derived anew: in a new file if it is damaged, else in memory.
    If another process redacts something meanwhile, it is derived in the new cache.
    """
    failed = 0
    while failed < 3:
        cache = session.cache
        try:
            update_lineage_cache(session)
            if session.cache is cache:
                return query(cache)
        except CacheUnusable as error:
            if failed:
                session.use_memory_cache()
            else:
                session.give_up_cache(error)
            failed += 1
    raise StoreError("the cache cannot be used", hint="see `brain doctor`")


def update_lineage_cache(session: Session) -> None:
    """Cache every snapshot that a ref or a resolved revision reaches.

    An unreadable lineage of another branch than the current one is left out: `verify`
    reports it, and unrelated queries still work.
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
    """Cache a snapshot and all its ancestors.

    Stop if another cache replaces this one: it would hold snapshots without their parents.
    """
    cache = session.cache
    if is_cached(session, root):
        return
    new = _list_uncached(session, root)
    for start in range(0, len(new), _SNAPSHOTS_PER_BATCH):
        some = new[start : start + _SNAPSHOTS_PER_BATCH]
        found = [derive.derive_snapshot(session, here) for here in some]
        if session.cache is not cache:
            return
        with cache.transaction():
            cache.put_snapshots(found)
        write_staged_cards(session)
        session.snapshots_in_cache.update(some)
        session.progress("history of skills", start + len(some), len(new))


def _list_uncached(session: Session, root: bytes) -> list[bytes]:
    """Return a snapshot and its ancestors that are not cached, parents first.

    The ancestors of a fork include those of its origin, if that is stored.
    """
    ranks: dict[bytes, int] = {}
    queue = [(root, 0)]
    while queue:
        snapshot_id, forks = queue.pop()
        if snapshot_id in ranks or is_cached(session, snapshot_id):
            continue
        snapshot = session.load_snapshot(snapshot_id)
        ranks[snapshot_id] = snapshot.generation - (forks << _FORK_RANK_BITS)
        queue += [(parent, forks) for parent in snapshot.parents]
        origin = operation.fork_origin(snapshot.operation) if snapshot.is_genesis else NO_DIGEST
        if origin and session.reader.has_object(origin):
            queue.append((origin, forks + 1))
    return sorted(ranks, key=ranks.__getitem__)


def read_facts(session: Session, *keys: str, label: str | None = None) -> list[Fact]:
    """Return what stored snapshots say about keys, of each by generation.

    With a `label`, only facts with it or without one. Raises `NotFound` if a snapshot was removed
    from a lineage that was asked about.
    """
    found = query_cache(
        session, lambda cache: [fact for key in keys for fact in cache.read_facts(key, label)]
    )
    wanted = {fact.snapshot for fact in found}
    absent = session.reader.find_missing({one for one in wanted if one not in session.snapshots})
    if absent:  # of another copy of the brain, or missing here
        resolved = session.resolved_snapshots
        asked_about = set(resolved) - session.reader.find_missing(resolved)
        queue, seen = [session.head(), *asked_about], set(session.complete_snapshots)
        while queue:
            if (snapshot_id := queue.pop()) not in seen:
                seen.add(snapshot_id)
                queue += session.load_snapshot(snapshot_id).parents
        session.complete_snapshots = seen
    return [fact for fact in found if fact.snapshot not in absent]


def read_skill_rows(
    session: Session, path: str, version: str | None = None
) -> Iterator[SkillHistoryRow]:
    """Yield the changes of the skill at a full path, in any stored lineage.

    With a `version`, only those that added the skill or gave it that version.
    """
    for fact in read_facts(session, path, BULK_PATH, label=version):
        if fact.key != BULK_PATH:
            yield decode_skill_row(fact)
            continue
        snapshot = session.load_snapshot(fact.snapshot)
        after = session.load_state(snapshot.bundle)
        before = session.parent_state(snapshot)
        was, now = before.get(path), after.get(path)
        if was != now or (was and path.count("/") == 2):  # see `find_reclassified`
            changed = [Difference(path, was, now)]
            is_old, is_new = (
                derive.build_skill_predicate(side, changed) for side in (before, after)
            )
            yield from derive.build_skill_rows(
                session, fact.snapshot, fact.generation, changed, is_old, is_new
            )


def find_nonstandard_paths(session: Session, slug: str) -> list[str]:
    """Return the unusual paths at which a skill of that slug ever was, sorted."""
    return query_cache(session, lambda cache: cache.find_skill_paths(slug))


def list_merges(session: Session) -> list[tuple[bytes, int]]:
    """Return (snapshot, generation) of the snapshots with several parents, by generation."""
    return [(fact.snapshot, fact.generation) for fact in read_facts(session, MERGES)]


def read_decisions(session: Session, key: str) -> list[DecisionRow]:
    """Return the decisions about a skill or a program in any stored lineage, by generation.

    `key` is from `skill_key` or `program_key`.
    """
    return [decode_decision(fact) for fact in read_facts(session, key)]


_CARDS_PER_BATCH = 4096
"""Number of staged cards from which on they are written at once."""


def load_cards(session: Session, blobs: Iterable[bytes]) -> dict[bytes, SkillMetadata]:
    """Return the cards of SKILL.md blobs; the cache keeps those it lacked."""
    cards = find_cards(session, blobs)
    keep_read_cards(session)
    return cards


def keep_read_cards(session: Session) -> None:
    """Write the staged cards to the cache, if no transaction is open that will write them."""
    if session.new_cards and session.reader is session.store:
        write_staged_cards(session)


def build_card_row(session: Session, path: str, blob: bytes, content: bytes) -> tuple[bytes, bytes]:
    """Return the row of the card of a SKILL.md that is being stored."""
    card = read_skill_metadata(content, "")
    session.loaded_cards[blob] = card
    note_declared_name(session, path, blob, card.name)
    return blob, encode_skill_metadata(card)


def stage_cards(session: Session, rows: Iterable[tuple[bytes, bytes]]) -> None:
    """Stage cards, given as (blob, card), for the cache; very many are written at once."""
    session.new_cards.update(rows)
    if len(session.new_cards) >= _CARDS_PER_BATCH:
        write_staged_cards(session)


def write_staged_cards(session: Session) -> None:
    """Write the staged cards to the cache, ignoring errors: they can be read again.

    Cards of content that was redacted meanwhile are left out. The cache is opened before
    that check, so that a cache created after a later redaction never gets them.
    """
    staged, session.new_cards = session.new_cards, {}
    if staged:
        cache = session.cache
        gone = session.reader.find_redactions(list(staged))
        with suppress(CacheUnusable), cache.transaction():
            cache.put_metadata(pair for pair in staged.items() if pair[0] not in gone)


class AncestorSet:
    """The ancestors of `head` and itself, as a container of ids.

    For an ancestor along first parents a test reads O(log n) snapshots; for others those off that
    line are noted once, down to the generation that was asked about.
    """

    def __init__(self, session: Session, head: bytes) -> None:
        self._session = session
        self._head = head
        self._noted: set[bytes] = set()
        session.note_resolved(head)

    def __contains__(self, snapshot_id: bytes) -> bool:
        load = self._session.load_snapshot
        try:
            generation = load(snapshot_id).generation
        except NotFound:  # the cache also has what copies of this brain recorded
            return False
        if self._is_on_line(snapshot_id):
            return True
        while self._waiting and -self._waiting[0][0] > generation:
            _, here = heappop(self._waiting)
            for parent in load(here).parents:
                if parent not in self._noted and not self._is_on_line(parent):
                    self._noted.add(parent)
                    heappush(self._waiting, (-load(parent).generation, parent))
        return snapshot_id in self._noted

    def _is_on_line(self, snapshot_id: bytes) -> bool:
        load = self._session.load_snapshot
        depth = load(snapshot_id).jump.depth
        return lineage.find_ancestor_at(load, self._head, depth) == snapshot_id

    @cached_property
    def _waiting(self) -> list[tuple[int, bytes]]:
        """The merges on the line, and what was noted, whose parents are still to be looked at."""
        merges = list_merges(self._session)
        found = [(-rank, merge) for merge, rank in merges if self._is_on_line(merge)]
        heapify(found)
        return found
