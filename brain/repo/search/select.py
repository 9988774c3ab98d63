"""Select the skills that a task needs, at the head or at another revision."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...errors import InvalidInput, ModelError, NotFound, printable_text
from ...results import Selected, Selection
from ...search.bm25 import Bm25Selector
from ..open.session import Session
from ..read import skill_lookup
from ..read.revisions import resolve_revision
from . import search_index

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...objects.bundle import Bundle
    from ...search.selector import RankedSkill, Selector
    from ...search.session_cache import SearchCache
    from ...store.full_text_index import FullTextIndex

KEYWORD, BM25, EMBEDDING, HYBRID = SELECTOR_NAMES = ("keyword", "bm25", "embedding", "hybrid")
DEFAULT_TOP = 10
"""Skills that are selected by default."""


class SelectionRequest(NamedTuple):
    """A task, how many skills to select for it, and by which selector.

    "" is "hybrid" if an embedder is configured, else "bm25" (docs/selection.md).
    """

    task: str
    top: int = DEFAULT_TOP
    by: str = ""


def select_skills(session: Session, request: SelectionRequest, revision: str = "@") -> Selection:
    """Return the skills that a task needs; see `Selector.rank`.

    If the embedder fails, skills are ranked by words and `fallback` is the reason, unless
    the selector is "embedding". Raises `InvalidInput` (`bad_selector`), `NotFound`
    (`no_embedder`), and for "embedding" the errors of the embedder.
    """
    return select_from_bundle(
        session, session.bundle_of(resolve_revision(session, revision)), request
    )


def select_from_bundle(session: Session, bundle: Bundle, request: SelectionRequest) -> Selection:
    """Return the skills of a bundle that a task needs; see `select_skills`.

    The ranking comes from a cache, names and descriptions from the bundle.
    """
    if request.by not in ("", *SELECTOR_NAMES):
        raise InvalidInput(
            f"there is no selector {printable_text(request.by, 80)}",
            code="bad_selector",
            hint=f"use one of: {', '.join(SELECTOR_NAMES)}",
        )
    search_cache = search_index.get_search_cache(session, bundle)
    ranked, by, fallback = _RankingQuery(session, search_cache, bundle, request).rank()
    known = search_index.find_documents(session, bundle, [one.path for one in ranked])
    found = [one for one in ranked if one.path in known]
    addresses = skill_lookup.find_addresses(session, bundle, [one.path for one in found])
    skills = [
        Selected(
            skill.slug, skill.name, skill.description, one.path, one.score, addresses[one.path]
        )
        for one in found
        for skill in [known[one.path]]
    ]
    return Selection(skills, by, fallback)


class _RankingResult(NamedTuple):
    """A ranking, its selector, and why it is not by meaning if that was requested."""

    ranked: list[RankedSkill]
    ranked_by: str
    fallback: str | None = None


class _RankingQuery(NamedTuple):
    session: Session
    search_cache: SearchCache
    bundle: Bundle
    request: SelectionRequest

    def rank(self) -> _RankingResult:
        """Rank by the requested selector, or by words if the embedder fails."""
        task, top, by = self.request
        if by == KEYWORD:
            return _RankingResult(self._load_catalogue().keyword.rank(task, top), by)
        if by == BM25:
            return self._rank_by_words()
        try:
            return self._rank_by_meaning()
        except (ModelError, InvalidInput, OSError) as error:
            if by == EMBEDDING:
                raise
            return self._rank_by_words(str(error))

    def _rank_by_words(self, fallback: str | None = None) -> _RankingResult:
        return _RankingResult(self._search(Bm25Selector), BM25, fallback)

    def _rank_by_meaning(self) -> _RankingResult:
        """Rank by an embedder; by words if none is configured and none was requested."""
        embedder = self.session.open_embedder and self.session.open_embedder()
        task, top, by = self.request
        if not embedder and not by:
            return self._rank_by_words()
        if not embedder:
            raise NotFound(
                "no embedder is configured",
                code="no_embedder",
                hint="name one with `brain config embedder`, or select --by bm25",
            )
        meaning = self._load_catalogue().embedding(embedder, self.session.cache.folder)
        if by == EMBEDDING:
            return _RankingResult(meaning.rank(task, top), EMBEDDING)
        from ...search.rank_fusion import HybridSelector

        return _RankingResult(
            self._search(lambda index: HybridSelector(meaning, Bm25Selector(index))), HYBRID
        )

    def _load_catalogue(self) -> SearchCache:
        return search_index.update_catalogue(self.session, self.search_cache, self.bundle)

    def _search(self, selector: Callable[[FullTextIndex], Selector]) -> list[RankedSkill]:
        task, top, _ = self.request
        return search_index.query_index(
            self.session,
            self.search_cache,
            self.bundle,
            lambda index: selector(index).rank(task, top),
        )
