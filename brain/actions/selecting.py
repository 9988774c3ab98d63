"""Selection: the skills that a task needs, at the head or at another revision."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..results import Selected
from ..session import Session
from . import shelving
from .revisions import resolve

if TYPE_CHECKING:
    from ..objects.bundle import Bundle

TOP = 10
"""How many skills are selected where nobody says."""
BEST = "bm25"
"""The selector where nobody names one."""


class Wanted(NamedTuple):
    """A task, how many skills to select for it, and by which selector, "" for the best there is."""

    task: str
    top: int = TOP
    by: str = ""


def select(session: Session, wanted: Wanted, revision: str = "@") -> list[Selected]:
    """Return the skills that a task needs, the best first; see `Selector.rank`.

    Raises `InvalidInput` (`bad_selector`).
    """
    return among(session, session.bundle_of(resolve(session, revision)), wanted)


def among(session: Session, bundle: Bundle, wanted: Wanted) -> list[Selected]:
    """Return those of the skills of a bundle that a task needs; see `select`."""
    if bundle == session.bundle_of(session.head()):
        shelf = shelving.at_head(session)
    else:
        shelf = shelving.of_bundle(session, bundle)
    ranked = shelf.selector(wanted.by or BEST).rank(wanted.task, wanted.top)
    found = [(shelf.catalogue.documents[one.path], one.score) for one in ranked]
    return [
        Selected(skill.slug, skill.name, skill.description, f"skills/{skill.path}", score)
        for skill, score in found
    ]
