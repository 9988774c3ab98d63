"""Suggest similar skills, for new ones only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import find_skill
from ..open.session import Session

if TYPE_CHECKING:
    from ...results import Similar


def find_similar_if_new(
    session: Session, name: str, description: str | None, body: bytes | None, limit: int
) -> list[Similar]:
    """Return the skills similar to a new one, the most similar first.

    Returns [] if a skill has that name already. Raises `InvalidInput` as `slugify` does.
    """
    found = find_skill.find_skill_path(session, session.bundle_of(session.head()), name)
    if found is not None or "/" in name:  # a path is that of an existing skill, or a mistake
        return []
    from .similar import find_similar_to_text

    return find_similar_to_text(session, name, description, body, limit)
