"""Who wrote skills: the author of the snapshot that gave each the content it has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..objects import bundle as bundles
from ..objects import lineage
from ..session import Session
from . import lineage_cache
from .derived import MANY, SECTION

_NEVER = 1 << 62


def authors(session: Session, snapshot_id: bytes, paths: Sequence[str]) -> list[str]:
    """Return the authors of the skills at full paths, as of a snapshot; "" for nobody known.

    Only what the snapshot descends from counts. Who merged a skill did not write it.
    """
    history = list(lineage.history(session.load, snapshot_id))
    written = [(here, snapshot.author) for here, snapshot in history if len(snapshot.parents) < 2]
    known = {author for _, author in written}
    if len(known) < 2:
        return [*known, ""][:1] * len(paths)
    ages = {here: age for age, (here, _) in enumerate(written)}
    newest: dict[str, int] = {}
    for path, age in _changes(session, ages):
        newest[path] = min(age, newest.get(path, _NEVER))
    whole = newest.get(MANY, _NEVER)
    found = [min(newest.get(path, _NEVER), whole) for path in paths]
    return [written[age][1] if age < _NEVER else "" for age in found]


def _changes(session: Session, ages: dict[bytes, int]) -> Iterator[tuple[str, int]]:
    """Yield the paths of skills with the ages of the snapshots that changed them.

    The path `MANY` stands for all that there is.
    """
    for path, here in lineage_cache.skill_changes(session):
        age = ages.get(here)
        if age is None:
            continue
        if path != MANY:
            yield path, age
            continue
        snapshot = session.load(here)
        after = session.bundle(snapshot.bundle)
        before = session.bundle_of(snapshot.parents[0]) if snapshot.parents else bundles.EMPTY
        if SECTION not in before:  # comparing would find them all
            yield MANY, age
        else:
            changed = bundles.compare(session.nodes, before, after)
            yield from ((path, age) for path, _, now in changed if now)
