"""What the cache knows of the lineages in a store, and bringing it up to date.

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

from ..cache.cache import Cache, Learned, SkillRow, Unusable
from ..cache.staged import Staged
from ..digest import EMPTY
from ..errors import FormatError, NotFound, StoreError
from ..objects import bundle as bundles
from ..objects import operation
from ..objects.bundle import Bundle
from ..objects.compare import Difference
from ..objects.entry import LINK, Entry
from ..objects.snapshot import Snapshot
from ..session import Session, head_ref
from . import derived
from .derived import CHANGED, MANY

_CARDS = 4096
"""Cards that are read together."""
_STEP = 256
"""Snapshots that the cache learns together."""
_FORK_BITS = 49
"""More than a generation has: what a fork came from stands before all of the fork."""

T = TypeVar("T")


def record(
    session: Session,
    snapshot_id: bytes,
    snapshot: Snapshot,
    before: Bundle,
    after: Bundle,
    edits: Mapping[str, Entry | None],
) -> None:
    """Stage for the cache which skills the edits of a new snapshot changed."""
    changed = [
        Difference(path, was, entry)
        for path, entry in edits.items()
        if derived.may_be_skill(path)
        and (was := bundles.get(session.nodes, before, path) if before else None) != entry
    ]
    changed += _unsettled(session, after, changed)
    if len(changed) >= derived.BULK and snapshot.operation[0] == "restore":
        _note_names(session, changed)  # which were not read for this snapshot
    learned = _learned(session, snapshot_id, snapshot, before, after, changed)
    session.staged[snapshot_id] = Staged(learned, before, after, changed)


def _learned(
    session: Session,
    snapshot_id: bytes,
    snapshot: Snapshot,
    before: Bundle,
    after: Bundle,
    changed: list[Difference],
) -> Learned:
    """Return what the cache learns of a snapshot: each changed skill, or that very many did.

    What the latter did to one skill is looked up when its history is asked for.
    """
    rank = snapshot.generation
    merge = rank if len(snapshot.parents) > 1 else None
    if len(changed) < derived.BULK:
        sides = derived.classifiers(session, before, after, changed)
        return Learned(
            snapshot_id, list(derived.rows(session, snapshot_id, rank, changed, *sides)), (), merge
        )
    row = SkillRow(MANY, snapshot_id, rank, CHANGED, "", ())
    names = [
        (slug, path)
        for path, _, now in changed
        if now
        for slug in derived.unusual_slugs(path, session.named_otherwise.get(now.blob, ""))
    ]
    return Learned(snapshot_id, [row], names, merge)


def _unsettled(session: Session, after: Bundle, changed: list[Difference]) -> list[Difference]:
    """Return what became a skill, or is none any more, though the file did not change."""
    known = {path for path, _, _ in changed}
    found = derived.unsettled(session, after, changed, known)
    return [one for one in found if derived.may_be_skill(one.path)]


def is_redaction(session: Session, snapshot_id: bytes) -> bool:
    """Tell whether a snapshot says that content was destroyed."""
    return bool(session.load(snapshot_id).operation[0] == "redact")


def forget(session: Session) -> None:
    """Clear the cache, which may know of what is to be nowhere."""
    session.clear_cache()
    session.new_cards.clear()


def is_known(session: Session, snapshot_id: bytes) -> bool:
    """Tell whether the cache knows a snapshot, and so all behind it."""
    if snapshot_id not in session.learned:
        if not session.cache.knows(snapshot_id):
            return False
        session.learned.add(snapshot_id)
    return True


def asked(session: Session, use: Callable[[Cache], T]) -> T:
    """Return what `use` makes of the cache, brought up to date with the lineages in the store.

    If the file of the cache fails, all is made anew in memory; if another process redacts
    something meanwhile, in the cache that takes its place.
    """
    failed = 0
    while failed < 2:
        cache = session.cache
        try:
            catch_up(session)
            if session.cache is cache:
                return use(cache)
        except Unusable:
            session.lose_cache()
            failed += 1
    raise StoreError("the cache cannot be used", hint="see `brain doctor`")


def catch_up(session: Session) -> None:
    """Let the cache learn every snapshot behind the refs, and behind what was asked about.

    What cannot be read behind another ref than that of the current branch is left out: it
    is a finding of `verify`, and no reason to refuse what has nothing to do with it.
    """
    refs = session.reader.refs()
    current = refs.get(head_ref((session.reader.meta("branch") or b"").decode()))
    roots = {*refs.values(), *session.resolved, *session.staged}
    for root in roots - session.learned:
        if is_known(session, root):
            continue
        if root == current:
            learn_lineage(session, root)
        else:
            with suppress(NotFound, StoreError, FormatError):
                learn_lineage(session, root)


def learn_lineage(session: Session, root: bytes) -> None:
    """Let the cache learn a snapshot and all behind it.

    It stops if another cache takes its place, which would know some and not their parents.
    """
    cache = session.cache
    if is_known(session, root):
        return
    new = _unknown(session, root)
    for start in range(0, len(new), _STEP):
        some = new[start : start + _STEP]
        found = [learned_of(session, here) for here in some]
        if session.cache is not cache:
            return
        with cache.changing():
            cache.learn(found)
        derived.write_cards(session)
        session.learned.update(some)
        session.report("history of skills", start + len(some), len(new))


def _unknown(session: Session, root: bytes) -> list[bytes]:
    """Return a snapshot and those behind it that the cache does not know, parents first.

    A fork goes on at what it came from, where that is here.
    """
    new: dict[bytes, int] = {}
    left = [(root, 0)]
    while left:
        here, forks = left.pop()
        if here in new or is_known(session, here):
            continue
        snapshot = session.load(here)
        new[here] = snapshot.generation - (forks << _FORK_BITS)
        left += [(parent, forks) for parent in snapshot.parents]
        origin = operation.origin(snapshot.operation) if snapshot.is_genesis else EMPTY
        if origin and session.reader.has(origin):
            left.append((origin, forks + 1))
    return sorted(new, key=new.__getitem__)


def learned_of(session: Session, here: bytes) -> Learned:
    """Return what the cache has to know of a stored snapshot, from its tree and its parent's."""
    staged = session.staged.get(here)
    if staged is not None:
        return staged.learned
    snapshot = session.load(here)
    if (snapshot.brain or here) != session.brain_id():  # of what a fork came from
        rank = snapshot.generation
        return Learned(here, [], (), rank if len(snapshot.parents) > 1 else None)
    after = session.bundle(snapshot.bundle)
    before = session.bundle_of(snapshot.parents[0]) if snapshot.parents else bundles.EMPTY
    changed = list(_changed(session, before, after))
    changed += _unsettled(session, after, changed)
    if len(changed) >= derived.BULK:
        _note_names(session, changed)
    found = _learned(session, here, snapshot, before, after, changed)
    return found._replace(rows=_as_told(session, snapshot, changed, found.rows))


def brief_of(session: Session, here: bytes) -> Learned:
    """Return what `learned_of` does, but for the names of very many skills, at little cost."""
    snapshot = session.load(here)
    if (snapshot.brain or here) == session.brain_id():
        after = session.bundle(snapshot.bundle)
        before = session.bundle_of(snapshot.parents[0]) if snapshot.parents else bundles.EMPTY
        changed = list(islice(_changed(session, before, after), derived.BULK))
        if len(changed) == derived.BULK:
            return _learned(session, here, snapshot, before, after, changed)._replace(names=())
    return learned_of(session, here)


def _changed(session: Session, before: Bundle, after: Bundle) -> Iterator[Difference]:
    """Yield what differs of what may be a skill."""
    for difference in bundles.compare(session.nodes, before, after):
        if derived.may_be_skill(difference.path):
            yield difference


def _as_told(
    session: Session, snapshot: Snapshot, changed: list[Difference], rows: list[SkillRow]
) -> list[SkillRow]:
    """Take the version of a skill whose content was redacted from the operation that wrote it.

    So no version is given a second time.
    """
    new = {pair.after.blob: pair.path for pair in changed if pair.after}
    gone = session.reader.redacted(list(new)) if len(changed) < derived.BULK else {}
    number = operation.version_given(snapshot.operation)
    if len(gone) != 1 or not number:
        return rows
    path = new[next(iter(gone))]
    return [row._replace(version=number) if row.path == path else row for row in rows]


def _note_names(session: Session, changed: list[Difference]) -> None:
    found = {d.after.blob: d.path for d in changed if d.after and d.after.kind != LINK}
    blobs = list(found)
    for start in range(0, len(blobs), _CARDS):
        some = derived.cards(session, blobs[start : start + _CARDS])
        for blob, card in some.items():
            derived.note_name(session, found[blob], blob, card.name)
        session.report("skills", min(start + _CARDS, len(blobs)), len(blobs))


def log_of(session: Session, path: str, version: str | None = None) -> Iterator[SkillRow]:
    """Yield what changed the skill at a full path, in any lineage here; see `Cache.history`.

    What the cache knows of snapshots that are not in this store is left out.
    """
    found, many = asked(session, lambda cache: (cache.history(path, version), cache.history(MANY)))
    here = present(session, [row.snapshot for row in (*found, *many)])
    yield from (row for row in found if row.snapshot in here)
    for bulk in many:
        if bulk.snapshot not in here:
            continue
        snapshot = session.load(bulk.snapshot)
        after = session.bundle(snapshot.bundle)
        before = session.bundle_of(snapshot.parents[0]) if snapshot.parents else bundles.EMPTY
        was = bundles.get(session.nodes, before, path)
        now = bundles.get(session.nodes, after, path)
        if was != now or (was and path.count("/") == 2):  # see `derived.unsettled`
            changed = [Difference(path, was, now)]
            sides = (
                derived.classifier(session, before, changed),
                derived.classifier(session, after, changed),
            )
            yield from derived.rows(session, bulk.snapshot, bulk.generation, changed, *sides)


def bulks(session: Session) -> list[SkillRow]:
    """Return the rows of the snapshots here that changed very many skills at once."""
    found = asked(session, lambda cache: cache.history(MANY))
    here = present(session, [row.snapshot for row in found])
    return [row for row in found if row.snapshot in here]


def times_added(session: Session, paths: Iterable[str]) -> list[int]:
    """Return how often a skill was added at each path, by snapshots that changed few skills."""
    return asked(session, lambda cache: [len(cache.history(path, "")) for path in paths])


def present(session: Session, snapshots: Iterable[bytes]) -> set[bytes]:
    """Return those of some snapshots that are in the store: a cache may know of others.

    Raises `NotFound` if one was taken out of a lineage that is asked about.
    """
    wanted = set(snapshots)
    absent = session.reader.missing({one for one in wanted if not session.is_at_hand(one)})
    if absent:
        _refuse_gaps(session)
    return wanted - absent


def _refuse_gaps(session: Session) -> None:
    """See that nothing is missing behind the head and what was asked about."""
    asked_about = set(session.resolved) - session.reader.missing(session.resolved)
    left, seen = [session.head(), *asked_about], set(session.whole)
    while left:
        here = left.pop()
        if here not in seen:
            seen.add(here)
            left += session.load(here).parents
    session.whole = seen


def skill_changes(session: Session) -> list[tuple[str, bytes]]:
    """Return (path, snapshot) of all that is in the histories of skills."""
    return asked(session, Cache.skill_changes)


def skill_paths(session: Session, slug: str) -> list[str]:
    """Return the unusual paths at which a skill of that slug ever was, sorted."""
    return asked(session, lambda cache: cache.skill_paths(slug))


def merges(session: Session) -> list[tuple[bytes, int]]:
    """Return (snapshot, generation) of the snapshots with several parents, in any order."""
    found = asked(session, Cache.merges)
    here = present(session, [snapshot for snapshot, _ in found])
    return [row for row in found if row[0] in here]
