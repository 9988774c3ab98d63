"""Whether one snapshot descends from another, also across forks."""

from __future__ import annotations

from ..objects import ancestry
from ..results import Ancestry
from ..session import Session
from .revisions import resolve


def between(session: Session, old: str, new: str) -> Ancestry:
    """Tell whether the revision `new` descends from `old`; see `results.Ancestry`."""
    ancestor, descendant = resolve(session, old), resolve(session, new)
    found = ancestry.path_between(session.load, ancestor, descendant)
    path = [here.hex() for here in found or ()]
    return Ancestry(found is not None, ancestor.hex(), descendant.hex(), path)
