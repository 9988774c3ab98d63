"""A skill that a merge keeps although one side removed it.

The side that removed it may have raised it further before. So that no version is
given twice, what is kept gets the version after all that either side knew.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InvalidInput
from ..merging.trees import Contest
from ..objects import bundle as bundles
from ..objects.entry import LINK, Entry
from ..skills import version
from ..skills.document import set_version
from . import derived
from .reconcile import Merger, Outcome
from .turn import Turn
from .within import Within


def raise_versions(mine: Turn, theirs: bytes, outcome: Outcome, merger: Merger) -> None:
    """Raise, in the edits of a merge, the skills it keeps against a removal."""
    lineages = (Within(mine.session, mine.head), Within(mine.session, theirs))
    for contest, _ in outcome.decided:
        if contest.ours is not None and contest.theirs is not None:
            continue
        entry = _kept(mine, outcome, contest)
        if entry is not None and derived.may_be_skill(contest.path) and entry.kind != LINK:
            _raise(mine, lineages, outcome, merger, contest, entry)


def _kept(mine: Turn, outcome: Outcome, contest: Contest) -> Entry | None:
    if contest.path in outcome.edits:
        return outcome.edits[contest.path]
    return bundles.get(mine.session.nodes, mine.bundle, contest.path)


def _raise(
    mine: Turn,
    lineages: Sequence[Within],
    outcome: Outcome,
    merger: Merger,
    contest: Contest,
    entry: Entry,
) -> None:
    session, path = mine.session, contest.path
    rows = list(derived.log_of(session, path))
    known = [row.version for row in rows for inside in lineages if row.snapshot in inside]
    stated = derived.cards(session, [entry.blob])[entry.blob].version
    last = version.greatest([*known, stated])
    if version.compare(last, stated) <= 0:
        return
    slug, number = derived.place_of(path), version.after(last)
    try:
        content = set_version(merger.read(entry.blob), number, slug)
    except InvalidInput:  # no version can be written into what cannot be read
        return
    outcome.edits[path] = merger.make(path, entry.kind, content)
    outcome.skills.append(
        (slug, stated if contest.ours else "", stated if contest.theirs else "", number)
    )
    outcome.skills.sort()
