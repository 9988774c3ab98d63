"""Suggest similar skills, for new ones only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..open.session import Session
from ..read import skill_lookup

if TYPE_CHECKING:
    from ...results import Similar


def find_similar_if_new(
    session: Session, name: str, description: str | None, body: bytes | None, limit: int
) -> list[Similar]:
    """Return the skills that one to be made is much like, the likest first.

    There are none where a skill has that name: then that one is improved, not made.
    Raises `InvalidInput` as `upsert` does for a name.
    """
    if skill_lookup.find_skill_path(session, session.bundle_of(session.head()), name) is not None:
        return []
    from .similar import find_similar_to_text

    return find_similar_to_text(session, name, description, body, limit)
