"""Skills that a merge has from one side alone, while the other side knew greater versions.

The other side removed it, perhaps after it had raised it further; or it added one of that
slug itself, and removed it again. So that no version is given twice, the skill gets the
version after all that either side knew.
"""

from __future__ import annotations

from ..errors import InvalidInput
from ..objects import bundle as bundles
from ..objects.entry import LINK, Entry
from ..session import Session
from ..skills import version
from ..skills.document import set_version
from . import derived, lineage_cache
from .reconcile import Merger, Outcome
from .turn import Turn
from .within import Within


def raise_versions(mine: Turn, theirs: bytes, outcome: Outcome, merger: Merger) -> None:
    """Raise, in the edits of a merge that is no mere step forward, such skills."""
    lineages = Within(mine.session, mine.head), Within(mine.session, theirs)
    removed = {
        contest.path: contest.ours is not None
        for contest, _ in outcome.decided
        if contest.ours is None or contest.theirs is None
    }
    twice = _added_twice(mine.session, outcome.added, lineages)
    added = {path: path not in outcome.edits for path in twice}
    for path, is_ours in (added | removed).items():
        entry = _kept(mine, outcome, path)
        if entry is not None and derived.may_be_skill(path) and entry.kind != LINK:
            having, lacking = lineages if is_ours else lineages[::-1]
            stated, number = _after_all(mine.session, entry, having, lacking)
            if number:
                _raise(outcome, merger, entry, (stated, "") if is_ours else ("", stated), number)


def _added_twice(session: Session, paths: list[str], lineages: tuple[Within, Within]) -> list[str]:
    """Return those paths that the other side may have added too, and removed again.

    Most were added once, which the log of each tells at once; of a snapshot that changed
    very many skills it tells nothing.
    """
    ours, theirs = lineages
    bulks = lineage_cache.bulks(session)
    if any((row.snapshot in ours) != (row.snapshot in theirs) for row in bulks):
        return paths
    counts = lineage_cache.times_added(session, paths)
    return [path for path, count in zip(paths, counts, strict=True) if count > 1]


def _kept(mine: Turn, outcome: Outcome, path: str) -> Entry | None:
    if path in outcome.edits:
        return outcome.edits[path]
    return bundles.get(mine.session.nodes, mine.bundle, path)


def _after_all(session: Session, entry: Entry, having: Within, lacking: Within) -> tuple[str, str]:
    """Return the version that a skill has, and the one it needs, "" if it may stay."""
    stated = derived.cards(session, [entry.blob])[entry.blob].version
    rows = list(lineage_cache.log_of(session, entry.path))
    other = [row for row in rows if row.snapshot in lacking and row.snapshot not in having]
    if all(version.compare(row.version, stated) <= 0 for row in other):
        return stated, ""
    known = [row.version for row in rows if row.snapshot in having]
    return stated, version.after(version.greatest([stated, *known, *(r.version for r in other)]))


def _raise(
    outcome: Outcome, merger: Merger, entry: Entry, sides: tuple[str, str], number: str
) -> None:
    slug = derived.place_of(entry.path)
    try:
        content = set_version(merger.read(entry.blob), number, slug)
    except InvalidInput:  # no version can be written into what cannot be read
        return
    outcome.edits[entry.path] = merger.make(entry.path, entry.kind, content)
    outcome.skills.append((slug, *sides, number))
    outcome.skills.sort()
