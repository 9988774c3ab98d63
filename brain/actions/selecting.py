"""Selection: the skills that a task needs, at the head or at another revision."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..errors import InvalidInput, printable
from ..results import Selected
from ..selection.bm25 import Bm25
from ..session import Session
from . import shelving
from .revisions import resolve

if TYPE_CHECKING:
    from ..objects.bundle import Bundle
    from ..selection.protocol import Ranked
    from ..store.fulltext import FullText

KEYWORD, BM25, EMBEDDING, HYBRID = WAYS = ("keyword", "bm25", "embedding", "hybrid")
TOP = 10
"""How many skills are selected where nobody says."""


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
    """Return those of the skills of a bundle that a task needs; see `select`.

    The ranking comes from a cache, what is said of the skills from the bundle.
    """
    ranked = _ranked(session, bundle, wanted)
    known = shelving.documents(session, bundle, [one.path for one in ranked])
    return [
        Selected(skill.slug, skill.name, skill.description, f"skills/{skill.path}", one.score)
        for one in ranked
        if (skill := known.get(one.path))
    ]


def _ranked(session: Session, bundle: Bundle, wanted: Wanted) -> list[Ranked]:
    task, top, by = wanted
    shelf = shelving.shelf_of(session, bundle)
    if by == KEYWORD:
        return shelving.catalogued(session, shelf, bundle).keyword.rank(task, top)
    if by in ("", BM25):

        def rank(index: FullText) -> list[Ranked]:
            return Bm25(index).rank(task, top)

        return shelving.searched(session, shelf, bundle, rank)
    if by == HYBRID:
        from ..selection.fusion import Hybrid

        keyword = shelving.catalogued(session, shelf, bundle).keyword

        def fused(index: FullText) -> list[Ranked]:
            return Hybrid([Bm25(index), keyword]).rank(task, top)

        return shelving.searched(session, shelf, bundle, fused)
    raise InvalidInput(
        f"no way to select is called {printable(by, 80)}",
        code="bad_selector",
        hint=f"take one of: {', '.join(WAYS)}",
    )
