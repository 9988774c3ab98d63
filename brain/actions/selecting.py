"""Selection: the skills that a task needs, at the head or at another revision."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..errors import InvalidInput, ModelError, NotFound, printable
from ..results import Selected, Selection
from ..selection.bm25 import Bm25
from ..session import Session
from . import shelving
from .revisions import resolve

if TYPE_CHECKING:
    from collections.abc import Callable

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


def select(session: Session, wanted: Wanted, revision: str = "@") -> Selection:
    """Return the skills that a task needs; see `Selector.rank`.

    An embedder that fails stops nothing, unless "embedding" is asked for by name: then the
    words decide, and `fallback` says so. Raises `InvalidInput` (`bad_selector`), `NotFound`
    (`no_embedder`), and for "embedding" whatever the embedder fails with.
    """
    return among(session, session.bundle_of(resolve(session, revision)), wanted)


def among(session: Session, bundle: Bundle, wanted: Wanted) -> Selection:
    """Return those of the skills of a bundle that a task needs; see `select`.

    The ranking comes from a cache, what is said of the skills from the bundle.
    """
    if wanted.by not in ("", *WAYS):
        raise InvalidInput(
            f"no way to select is called {printable(wanted.by, 80)}",
            code="bad_selector",
            hint=f"take one of: {', '.join(WAYS)}",
        )
    shelf = shelving.shelf_of(session, bundle)
    ranked, by, fallback = _Ranking(session, shelf, bundle, wanted).found()
    known = shelving.documents(session, bundle, [one.path for one in ranked])
    skills = [
        Selected(skill.slug, skill.name, skill.description, f"skills/{skill.path}", one.score)
        for one in ranked
        if (skill := known.get(one.path))
    ]
    return Selection(skills, by, fallback)


class _Found(NamedTuple):
    """A ranking, what it is by, and why not by meaning where that was wanted."""

    ranked: list[Ranked]
    by: str
    fallback: str | None = None


class _Ranking(NamedTuple):
    """What is ranked, and for which task."""

    session: Session
    shelf: Shelf
    bundle: Bundle
    wanted: Wanted

    def found(self) -> _Found:
        """Rank as is wanted, or by words where the embedder fails."""
        task, top, by = self.wanted
        if by == KEYWORD:
            return _Found(self._catalogued().keyword.rank(task, top), by)
        if by == BM25:
            return self._by_words()
        try:
            return self._by_meaning()
        except (ModelError, InvalidInput, OSError) as error:
            if by == EMBEDDING:
                raise
            return self._by_words(str(error))

    def _by_words(self, fallback: str | None = None) -> _Found:
        return _Found(self._searched(Bm25), BM25, fallback)

    def _by_meaning(self) -> _Found:
        """Rank by an embedder; by words if there is none and none is asked for."""
        embedder = self.session.open_embedder and self.session.open_embedder()
        task, top, by = self.wanted
        if not embedder and not by:
            return self._by_words()
        if not embedder:
            raise NotFound(
                "no embedder is configured",
                code="no_embedder",
                hint="name one with `brain config embedder`, or select --by bm25",
            )
        meaning = self._catalogued().embedding(embedder, self.session.cache.folder)
        if by != HYBRID:
            return _Found(meaning.rank(task, top), EMBEDDING)
        from ..selection.fusion import Hybrid

        return _Found(self._searched(lambda index: Hybrid([meaning, Bm25(index)])), HYBRID)

    def _catalogued(self) -> Shelf:
        return shelving.catalogued(self.session, self.shelf, self.bundle)

    def _searched(self, selector: Callable[[FullText], Selector]) -> list[Ranked]:
        """Rank by a selector that needs the index of words."""
        task, top, _ = self.wanted
        return shelving.searched(
            self.session, self.shelf, self.bundle, lambda index: selector(index).rank(task, top)
        )
