"""Raise the versions of merged skills, so that no version of a skill is used twice.

One side may have raised a skill further and then removed it, or added a skill of the same
slug and removed it. Such a skill gets the version after all that either side has seen.
"""

from __future__ import annotations

from ...errors import InvalidInput
from ...objects import bundle as bundles
from ...objects.tree_entry import LINK, TreeEntry
from ...skills import skill_version
from ...skills.skill_document import set_version
from ..core.transaction import WriteTransaction
from ..open.session import Session
from ..read import card_cache, lineage_cache, skill_rows
from ..read.ancestor_set import AncestorSet
from .merge_bundles import MergeOutcome, Merger


def raise_versions(
    txn: WriteTransaction, theirs: bytes, outcome: MergeOutcome, merger: Merger
) -> None:
    """Raise the versions of such skills in the edits of a merge that is no fast-forward."""
    lineages = AncestorSet(txn.session, txn.head), AncestorSet(txn.session, theirs)
    removed = {
        conflict.path: conflict.ours is not None
        for conflict, _ in outcome.decided
        if conflict.ours is None or conflict.theirs is None
    }
    added_paths = _find_added_twice(txn.session, outcome.added, lineages)
    added = {path: path not in outcome.edits for path in added_paths}
    for path, is_ours in (added | removed).items():
        entry = _find_merged_entry(txn, outcome, path)
        if entry is None or entry.kind == LINK or not skill_rows.may_be_skill(path):
            continue
        having, lacking = lineages if is_ours else lineages[::-1]
        stated_version, new_version = _find_needed_version(txn.session, entry, having, lacking)
        if new_version:
            sides = (stated_version, "") if is_ours else ("", stated_version)
            _raise_version(outcome, merger, entry, sides, new_version)


def _find_added_twice(
    session: Session, paths: list[str], lineages: tuple[AncestorSet, AncestorSet]
) -> list[str]:
    """Return the paths that the other side may have added too, and removed.

    The skill log tells how often a path was added, but not for snapshots that changed very
    many skills; with such a snapshot on one side, all paths are returned.
    """
    ours, theirs = lineages
    bulks = lineage_cache.list_bulk_changes(session)
    if any((row.snapshot in ours) != (row.snapshot in theirs) for row in bulks):
        return paths
    counts = lineage_cache.count_additions(session, paths)
    return [path for path, count in zip(paths, counts, strict=True) if count > 1]


def _find_merged_entry(txn: WriteTransaction, outcome: MergeOutcome, path: str) -> TreeEntry | None:
    if path in outcome.edits:
        return outcome.edits[path]
    return bundles.get_entry(txn.session.nodes, txn.bundle, path)


def _find_needed_version(
    session: Session, entry: TreeEntry, having: AncestorSet, lacking: AncestorSet
) -> tuple[str, str]:
    stated_version = card_cache.load_cards(session, [entry.blob])[entry.blob].version
    rows = list(lineage_cache.read_skill_rows(session, entry.path))
    foreign = [
        row.version for row in rows if row.snapshot in lacking and row.snapshot not in having
    ]
    if all(skill_version.compare_versions(version, stated_version) <= 0 for version in foreign):
        return stated_version, ""
    own = [row.version for row in rows if row.snapshot in having]
    greatest = skill_version.greatest_version([stated_version, *own, *foreign])
    return stated_version, skill_version.next_version(greatest)


def _raise_version(
    outcome: MergeOutcome,
    merger: Merger,
    entry: TreeEntry,
    sides: tuple[str, str],
    new_version: str,
) -> None:
    slug = skill_rows.slug_from_full_path(entry.path)
    try:
        content = set_version(merger.read_content(entry.blob), new_version, slug)
    except InvalidInput:  # a skill that cannot be read keeps its content
        return
    outcome.edits[entry.path] = merger.make_entry(entry.path, entry.kind, content)
    outcome.skills.append((slug, *sides, new_version))
    outcome.skills.sort()
