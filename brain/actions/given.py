"""The versions that a skill was given in the lineage of the head."""

from __future__ import annotations

from ..skills import version
from . import find, lineage_cache
from .turn import Turn
from .within import Within


def was_given(mine: Turn, path: str, number: str) -> bool:
    """Tell whether the skill at a path bore a version before, in the lineage of the head."""
    inside = Within(mine.session, mine.head)
    rows = lineage_cache.log_of(mine.session, path, number)
    return any(row.version == number and row.snapshot in inside for row in rows)


def last_version(mine: Turn, slug: str) -> str | None:
    """Return the greatest version that a skill of that slug ever had in the lineage.

    The latest is not enough: a merge may have kept a removal and left greater versions behind.
    """
    inside = Within(mine.session, mine.head)
    seen = [
        row.version
        for path in find.paths_within(mine.session, inside, slug)
        for row in lineage_cache.log_of(mine.session, path)
        if row.snapshot in inside
    ]
    return version.greatest(seen) if seen else None
