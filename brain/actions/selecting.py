"""Selection: the skills that a task needs, at the head or at another revision."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..errors import InvalidInput, NotFound, printable
from ..results import Selected
from ..selection.bm25 import Bm25
from ..session import Session
from ..store import caches
from . import shelving
from .revisions import resolve

if TYPE_CHECKING:
    from ..objects.bundle import Bundle
    from ..selection.protocol import Ranked, Selector
    from ..selection.shelf import Shelf
    from ..store.fulltext import FullText

KEYWORD, BM25, EMBEDDING, HYBRID = WAYS = ("keyword", "bm25", "embedding", "hybrid")
TOP = 10
"""How many skills are selected where nobody says."""


class Wanted(NamedTuple):
    """A task, how many skills to select for it, and by which selector.

    "" is the best there is: "embedding" with an embedder, else "bm25" (docs/selection.md).
    """

    task: str
    top: int = TOP
    by: str = ""


def select(session: Session, wanted: Wanted, revision: str = "@") -> list[Selected]:
    """Return the skills that a task needs, the best first; see `Selector.rank`.

    Raises `InvalidInput` (`bad_selector`), `NotFound` (`no_embedder`) or `ModelError`.
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
    if by not in ("", *WAYS):
        raise InvalidInput(
            f"no way to select is called {printable(by, 80)}",
            code="bad_selector",
            hint=f"take one of: {', '.join(WAYS)}",
        )
    shelf = shelving.shelf_of(session, bundle)
    other: Selector | None = None
    if by in (KEYWORD, EMBEDDING, HYBRID):
        other = _by_catalogue(session, shelf, bundle, by)
    elif not by:
        other = _meaning(session, shelf, bundle)
    if other is not None and by != HYBRID:
        return other.rank(task, top)

    def rank(index: FullText) -> list[Ranked]:
        if other is None:
            return Bm25(index).rank(task, top)
        from ..selection.fusion import Hybrid

        return Hybrid([other, Bm25(index)]).rank(task, top)

    return shelving.searched(session, shelf, bundle, rank)


def _by_catalogue(session: Session, shelf: Shelf, bundle: Bundle, by: str) -> Selector:
    """Return a selector that knows all skills. Raises `NotFound` (`no_embedder`)."""
    if by == KEYWORD:
        return shelving.catalogued(session, shelf, bundle).keyword
    found = _meaning(session, shelf, bundle)
    if found is None:
        raise NotFound(
            "no embedder is configured",
            code="no_embedder",
            hint="name one with `brain config embedder`, or select --by bm25",
        )
    return found


def _meaning(session: Session, shelf: Shelf, bundle: Bundle) -> Selector | None:
    """Return the selector by meaning, None if there is no embedder."""
    embedder = session.open_embedder and session.open_embedder()
    if not embedder:
        return None
    folder = caches.folder(session.control)
    return shelving.catalogued(session, shelf, bundle).embedding(embedder, folder)
