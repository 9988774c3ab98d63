"""Derive from objects what the lineage cache holds of a snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ...cache.derived_cache import DerivedSnapshot, SkillHistoryRow
from ...objects import bundle as bundles
from ...objects import operation
from ...objects.bundle import Bundle
from ...objects.snapshot import Snapshot
from ...objects.tree_diff import Difference
from ...objects.tree_entry import LINK
from ..open.session import Session
from . import skill_rows
from .decision_rows import derive_decision
from .skill_rows import BULK_PATH, CHANGED, CardLoader

_CARDS_PER_BATCH = 4096


def derive_snapshot(
    session: Session, here: bytes, load_cards: CardLoader, brief: bool = False
) -> DerivedSnapshot:
    """Derive the cache entry of a stored snapshot from its tree and its parent's.

    A `brief` one is quicker for very many changed skills, and then lacks their names.
    """
    staged = session.staged_updates.get(here)
    if staged is not None and not brief:
        return staged.derived
    snapshot = session.load_snapshot(here)
    if (snapshot.brain or here) != session.brain_id():  # of the brain that a fork came from
        generation = snapshot.generation
        return DerivedSnapshot(here, [], (), generation if len(snapshot.parents) > 1 else None)
    after = session.load_bundle(snapshot.bundle)
    before = session.parent_bundle(snapshot)
    differences = _diff_skill_paths(session, before, after)
    changed = list(islice(differences, skill_rows.MIN_BULK_PATHS if brief else None))
    if not brief or len(changed) < skill_rows.MIN_BULK_PATHS:
        known = {path for path, _, _ in changed}
        changed += skill_rows.find_reclassified(session, after, changed, known)
        if len(changed) >= skill_rows.MIN_BULK_PATHS:
            note_declared_names(session, changed, load_cards)
    derived = derive_from_changes(session, here, snapshot, before, after, changed, load_cards)
    rows = _restore_redacted_version(session, snapshot, changed, derived.rows)
    return derived._replace(rows=rows)


def _diff_skill_paths(session: Session, before: Bundle, after: Bundle) -> Iterator[Difference]:
    for difference in bundles.diff_bundles(session.nodes, before, after):
        if skill_rows.may_be_skill(difference.path):
            yield difference


def _restore_redacted_version(
    session: Session, snapshot: Snapshot, changed: list[Difference], rows: list[SkillHistoryRow]
) -> list[SkillHistoryRow]:
    """Take the version of a redacted skill from the operation that wrote it.

    So no version is assigned twice.
    """
    number = operation.written_version(snapshot.operation)
    if not number or len(changed) >= skill_rows.MIN_BULK_PATHS:
        return rows
    gone = session.reader.find_redactions([pair.after.blob for pair in changed if pair.after])
    if len(gone) != 1:
        return rows
    paths = {pair.path for pair in changed if pair.after and pair.after.blob in gone}
    return [row._replace(version=number) if row.path in paths else row for row in rows]


def note_declared_names(
    session: Session, changed: list[Difference], load_cards: CardLoader
) -> None:
    """Note the skills among the changed files whose names lead to another slug than their paths."""
    places = [(d.path, d.after.blob) for d in changed if d.after and d.after.kind != LINK]
    for start in range(0, len(places), _CARDS_PER_BATCH):
        some = places[start : start + _CARDS_PER_BATCH]
        cards = load_cards(session, [blob for _, blob in some])
        for path, blob in some:
            skill_rows.note_declared_name(session, path, blob, cards[blob].name)
        session.report_progress("skills", start + len(some), len(places))


def derive_from_changes(
    session: Session,
    snapshot_id: bytes,
    snapshot: Snapshot,
    before: Bundle,
    after: Bundle,
    changed: list[Difference],
    load_cards: CardLoader,
) -> DerivedSnapshot:
    """Derive a cache entry: a row for each changed skill, or one for very many.

    In the latter case the change of one skill is computed when its history is read.
    """
    generation = snapshot.generation
    merge = generation if len(snapshot.parents) > 1 else None
    decision = derive_decision(session, snapshot_id, snapshot)
    if len(changed) < skill_rows.MIN_BULK_PATHS:
        sides = skill_rows.build_skill_predicates(session, before, after, changed)
        return DerivedSnapshot(
            snapshot_id,
            list(
                skill_rows.build_skill_rows(
                    session, snapshot_id, generation, changed, *sides, load_cards
                )
            ),
            (),
            merge,
            decision,
        )
    row = SkillHistoryRow(BULK_PATH, snapshot_id, generation, CHANGED, "", ())
    names = [
        (slug, path)
        for path, _, now in changed
        if now
        for slug in skill_rows.nonstandard_slugs(
            path, session.declared_names.get((path, now.blob), "")
        )
    ]
    return DerivedSnapshot(snapshot_id, [row], names, merge, decision)
