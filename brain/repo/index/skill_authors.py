"""Find who wrote each skill last, and how long ago: the snapshot with its current content."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...objects import bundle as bundles
from ...objects import lineage, paths
from ..open.session import Session
from ..read import lineage_cache
from ..read.skill_rows import BULK_PATH

_UNKNOWN_AGE = 1 << 62


class LastWrite(NamedTuple):
    """The author of the last change of a skill, "" if unknown, and the snapshots made since."""

    author: str
    age: int


def find_last_writes(
    session: Session, snapshot_id: bytes, skill_paths: Sequence[str]
) -> list[LastWrite]:
    """Return who wrote the skills at full paths last, as of a snapshot, and when.

    Only ancestors of the snapshot count, and merges do not.
    """
    history = list(lineage.walk_ancestors(session.load_snapshot, snapshot_id))
    written = [(here, snapshot.author) for here, snapshot in history if len(snapshot.parents) < 2]
    ages = {here: age for age, (here, _) in enumerate(written)}
    newest: dict[str, int] = {}
    for path, age in _skill_change_ages(session, ages):
        newest[path] = min(age, newest.get(path, _UNKNOWN_AGE))
    bulk_age = newest.get(BULK_PATH, _UNKNOWN_AGE)
    last_ages = [min(newest.get(path, _UNKNOWN_AGE), bulk_age) for path in skill_paths]
    return [LastWrite(written[age][1] if age < _UNKNOWN_AGE else "", age) for age in last_ages]


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
