"""Whether a skill that is to be made is new, before what it is like is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..session import Session
from . import find

if TYPE_CHECKING:
    from ..results import Similar


def like_wish(
    session: Session, name: str, description: str | None, body: bytes | None, limit: int
) -> list[Similar]:
    """Return the skills that one to be made is much like, the likest first.

    There are none where a skill has that name: then that one is improved, not made.
    Raises `InvalidInput` as `upsert` does for a name.
    """
    if find.place(session, session.bundle_of(session.head()), name) is not None:
        return []
    from .likening import like_new

    return like_new(session, name, description, body, limit)
