"""An upsert that was written against an earlier version than the one that is there now.

Another writer came first. What both did is merged, as branches are, so that
neither is lost; where that needs a decision the upsert is refused.
"""

from __future__ import annotations

from ..errors import Conflict
from ..merging import contents, skills
from ..merging.contents import Draft
from ..skills import document
from .history import at_version
from .turn import Turn
from .upsert import NONE_YET, Wish


def onto(mine: Turn, slug: str, prior: bytes, current: str, wish: Wish) -> document.Upsert:
    """Return what a skill at version `current` becomes by a wish for version `wish.base`.

    Raises `NotFound` (`no_version`) or `Conflict` (`stale_base`).
    """
    if wish.base == NONE_YET:
        raise Conflict(
            f"{slug} is there by now, at version {current}",
            code="stale_base",
            hint=f"read it with `brain skill view {slug}`, and write to its text",
        )
    session = mine.session
    _, then = at_version(session, mine.head, slug, wish.base)
    old = session.reader.read_blob(then.blob)
    theirs = document.upsert_document(old, None, wish.name, slug, wish.description, wish.body)
    merged = skills.merge(old, prior, theirs.content, slug)
    content = contents.finished(Draft(merged.pieces, merged), None)
    if content is None:
        raise Conflict(
            f"{slug} is at version {current}, which changed what was written for {wish.base}",
            code="stale_base",
            hint=f"read it again with `brain skill view {slug}`, and write to its new text",
        )
    return document.Upsert(content, merged.version, current, theirs.name)
