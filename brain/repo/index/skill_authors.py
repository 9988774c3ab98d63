"""Find the author of each skill: that of the snapshot with its current content."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...objects import bundle as bundles
from ...objects import lineage, paths
from ..open.session import Session
from ..read import lineage_cache
from ..read.skill_rows import BULK_PATH

_UNKNOWN_AGE = 1 << 62


def find_skill_authors(
    session: Session, snapshot_id: bytes, skill_paths: Sequence[str]
) -> list[str]:
    """Return the authors of the skills at full paths, as of a snapshot; "" if unknown.

    Only ancestors of the snapshot count, and merges do not.
    """
    history = list(lineage.walk_ancestors(session.load_snapshot, snapshot_id))
    written = [(here, snapshot.author) for here, snapshot in history if len(snapshot.parents) < 2]
    known = {author for _, author in written}
    if len(known) < 2:
        return [*known, ""][:1] * len(skill_paths)
    ages = {here: age for age, (here, _) in enumerate(written)}
    newest: dict[str, int] = {}
    for path, age in _skill_change_ages(session, ages):
        newest[path] = min(age, newest.get(path, _UNKNOWN_AGE))
    bulk_age = newest.get(BULK_PATH, _UNKNOWN_AGE)
    oldest_ages = [min(newest.get(path, _UNKNOWN_AGE), bulk_age) for path in skill_paths]
    return [written[age][1] if age < _UNKNOWN_AGE else "" for age in oldest_ages]


def _skill_change_ages(session: Session, ages: dict[bytes, int]) -> Iterator[tuple[str, int]]:
    """Yield the paths of skills with the ages of the snapshots that changed them.

    `BULK_PATH` means all skills.
    """
    for path, here in lineage_cache.list_skill_changes(session):
        age = ages.get(here)
        if age is None:
            continue
        if path != BULK_PATH:
            yield path, age
            continue
        snapshot = session.load_snapshot(here)
        after = session.load_bundle(snapshot.bundle)
        before = session.parent_bundle(snapshot)
        if before.keys() <= {paths.TOP_SECTION}:  # all skills are new
            yield BULK_PATH, age
        else:
            changed = bundles.diff_bundles(session.nodes, before, after)
            yield from ((path, age) for path, _, now in changed if now)
