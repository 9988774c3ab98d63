"""Keep the search index and the catalogue of skills up to date with a bundle.

The word index is in the user's cache. After a
change of the head only the paths in the diff of the two trees are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ..encoding import pack, unpack
from ..errors import (
    FormatError,
    InvalidInput,
    Locked,
    ModelError,
    NotFound,
    StoreError,
    printable_text,
)
from ..objects import bundle as bundles
from ..objects.bundle import Bundle
from ..objects.tree_node import LINK
from ..results import Selected, Selection
from ..search import full_text
from ..search.full_text import FullTextIndex
from ..search.search_cache import SearchCache
from ..search.selectors import (
    FIELD_WEIGHTS,
    Bm25Selector,
    HybridSelector,
    SearchDocument,
    index_fields,
)
from ..skills import skill_layout
from ..skills.skill_metadata import SkillMetadata
from . import derive, find_skill, lineage_cache
from .revisions import resolve_revision
from .session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..objects.bundle import Bundle
    from ..search.full_text import FullTextIndex
    from ..search.selectors import RankedSkill, Selector


SEARCH_INDEX_FORMAT = 2
"""Raised when the indexed texts of skills change."""
_MAX_INCREMENTAL_PATHS = 2000
"""With so many changed paths, everything is read again."""

T = TypeVar("T")


def get_search_cache(session: Session, bundle: Bundle) -> SearchCache:
    """Return the search cache of a bundle: the session's for the head, else a new one."""
    _ = session.cache  # the cache of before has words of what was redacted
    if bundle == session.bundle_of(session.head()):
        if session.search_cache is None:
            session.search_cache = SearchCache()
        return session.search_cache
    search_cache = SearchCache()
    search_cache.index = full_text.open_memory_full_text(FIELD_WEIGHTS)
    return search_cache


def query_index(
    session: Session, search_cache: SearchCache, bundle: Bundle, query: Callable[[FullTextIndex], T]
) -> T:
    """Return the result of `query` on the word index of a bundle's skills.

    If the cache is damaged or locked, the index is built in memory.
    """
    try:
        if search_cache.index is None:
            search_cache.index = FullTextIndex(session.cache.db, FIELD_WEIGHTS)
        _update_index(session, search_cache.index, bundle)
        return query(search_cache.index)
    except (Locked, StoreError) as error:
        if not isinstance(error, Locked):
            session.replace_cache()
        search_cache.index = full_text.open_memory_full_text(FIELD_WEIGHTS)
        _update_index(session, search_cache.index, bundle)
        return query(search_cache.index)


def update_documents(session: Session, search_cache: SearchCache, bundle: Bundle) -> SearchCache:
    """Return the search cache with its skills updated to the bundle."""
    before = search_cache.bundle
    if bundle != before:
        changed_paths = None if before is None else _find_changed_paths(session, before, bundle)
        if changed_paths is None:
            new = _load_all_documents(session, bundle)
            search_cache.documents.clear()
        else:
            new = _load_documents(session, bundle, changed_paths)
            for path in changed_paths:
                search_cache.documents.pop(path, None)
        search_cache.documents.update((one.path, one) for one in new)
        search_cache.bundle = bundle
    return search_cache


def _update_index(session: Session, index: FullTextIndex, bundle: Bundle) -> None:
    state = pack((SEARCH_INDEX_FORMAT, bundles.bundle_id(bundle)))
    if index.state == state:
        return
    with index.transaction():
        before = _load_indexed_bundle(session, index.state)
        changed_paths = None if before is None else _find_changed_paths(session, before, bundle)
        if changed_paths is None:
            index.clear()
            changed_paths, new_documents = [], _load_all_documents(session, bundle)
        else:
            new_documents = _load_documents(session, bundle, changed_paths)
        index.update(state, changed_paths, ((one.path, index_fields(one)) for one in new_documents))


def _load_indexed_bundle(session: Session, state: bytes) -> Bundle | None:
    """Return the bundle that the index is of; None for another format, or if it was collected."""
    try:
        version, bundle_id = unpack(state) if state else (0, b"")
        if version != SEARCH_INDEX_FORMAT:
            return None
        return session.load_bundle(bundle_id)
    except (FormatError, ValueError, NotFound):
        return None


def _load_all_documents(session: Session, bundle: Bundle) -> list[SearchDocument]:
    return [_build_document(*one) for one in find_skill.iter_skills(session, bundle)]


def _build_document(path: str, name: str, blob: bytes, card: SkillMetadata) -> SearchDocument:
    return SearchDocument(
        path, skill_layout.slug_from_name(name), card.name or name, card.description, blob
    )


def _find_changed_paths(session: Session, before: Bundle, after: Bundle) -> list[str] | None:
    """Return the full paths whose skills may have changed.

    None if there are too many, or a tree of the bundle before no longer exists.
    """
    try:
        changed = derive.diff_skills(session, before, after, _MAX_INCREMENTAL_PATHS)
        changed_paths = {path for path, _, _ in changed}
        for bundle in (before, after):
            changed_paths.update(
                pair.path
                for pair in derive.find_reclassified(
                    session, before, bundle, changed, changed_paths
                )
            )
    except NotFound:  # the tree before was collected
        return None
    return sorted(changed_paths) if len(changed_paths) < _MAX_INCREMENTAL_PATHS else None


def _load_documents(
    session: Session, bundle: Bundle, changed_paths: Iterable[str]
) -> list[SearchDocument]:
    skills: list[tuple[str, str, bytes]] = []
    for path in changed_paths:
        entry = bundles.get_entry(session.nodes, bundle, path)
        if entry is None or entry.kind == LINK:
            continue
        name = derive.find_skill_name(session, bundle, path)
        if name is not None:
            skills.append((path, name, entry.blob))
    cards = lineage_cache.load_cards(session, [blob for _, _, blob in skills])
    return [_build_document(path, name, blob, cards[blob]) for path, name, blob in skills]


def find_documents(
    session: Session, bundle: Bundle, paths: Iterable[str]
) -> dict[str, SearchDocument]:
    """Return the skills of a bundle at some full paths, without paths of other files."""
    return {one.path: one for one in _load_documents(session, bundle, paths)}


KEYWORD, BM25, EMBEDDING, HYBRID = SELECTOR_NAMES = ("keyword", "bm25", "embedding", "hybrid")
DEFAULT_TOP = 10
"""Skills that are selected by default."""


def select_skills(
    session: Session, task: str, limit: int = DEFAULT_TOP, *, by: str = "", rev: str = "@"
) -> Selection:
    """Return the skills that fit a task, at most `limit` or all if it is 0, and the selector.

    `by` is "keyword", "bm25", "embedding", "hybrid" (bm25 and embedding), or "" for the
    best one available: "hybrid" with an embedder, else "bm25". If the embedder fails,
    "" and "hybrid" use "bm25", and `fallback` has the reason; "embedding" raises
    `ModelError` or `InvalidInput` (`bad_embedder`, `no_key`, `key_readable`). The first
    call reads the skills of the head and keeps them. Raises `InvalidInput`
    (`bad_selector`) or `NotFound` (`no_embedder`).
    """
    bundle = session.bundle_of(resolve_revision(session, rev))
    return select_from_bundle(session, bundle, task, limit, by)


def select_from_bundle(
    session: Session, bundle: Bundle, task: str, limit: int, by: str
) -> Selection:
    """Return the skills of a bundle that a task needs; see `select_skills`.

    The ranking comes from a cache, names and descriptions from the bundle.
    """
    if by not in ("", *SELECTOR_NAMES):
        raise InvalidInput(
            f"there is no selector {printable_text(by, 80)}",
            code="bad_selector",
            hint=f"use one of: {', '.join(SELECTOR_NAMES)}",
        )
    search_cache = get_search_cache(session, bundle)
    query = _RankingQuery(session, search_cache, bundle, task, limit, by)
    ranked, ranked_by, fallback = query.rank()
    known = find_documents(session, bundle, [one.path for one in ranked])
    found = [one for one in ranked if one.path in known]
    addresses = find_skill.find_addresses(session, bundle, [one.path for one in found])
    skills = [
        Selected(
            skill.slug, skill.name, skill.description, one.path, one.score, addresses[one.path]
        )
        for one in found
        for skill in [known[one.path]]
    ]
    return Selection(skills, ranked_by, fallback)


class _RankingResult(NamedTuple):
    """A ranking, its selector, and why it is not by meaning if that was requested."""

    ranked: list[RankedSkill]
    ranked_by: str
    fallback: str | None = None


class _RankingQuery(NamedTuple):
    session: Session
    search_cache: SearchCache
    bundle: Bundle
    task: str
    top: int
    by: str

    def rank(self) -> _RankingResult:
        """Rank by the requested selector, or by words if the embedder fails."""
        if self.by == KEYWORD:
            keyword = self._update_documents().keyword
            return _RankingResult(keyword.rank(self.task, self.top), KEYWORD)
        if self.by == BM25:
            return self._rank_by_words()
        try:
            return self._rank_by_meaning()
        except (ModelError, InvalidInput, OSError) as error:
            if self.by == EMBEDDING:
                raise
            return self._rank_by_words(str(error))

    def _rank_by_words(self, fallback: str | None = None) -> _RankingResult:
        return _RankingResult(self._search(Bm25Selector), BM25, fallback)

    def _rank_by_meaning(self) -> _RankingResult:
        """Rank by an embedder; by words if none is configured and none was requested."""
        embedder = self.session.open_embedder and self.session.open_embedder()
        if not embedder and not self.by:
            return self._rank_by_words()
        if not embedder:
            raise NotFound(
                "no embedder is configured",
                code="no_embedder",
                hint="name one with `brain config embedder`, or select --by bm25",
            )
        meaning = self._update_documents().embedding(embedder, self.session.cache.folder)
        if self.by == EMBEDDING:
            return _RankingResult(meaning.rank(self.task, self.top), EMBEDDING)
        return _RankingResult(
            self._search(lambda index: HybridSelector(meaning, Bm25Selector(index))), HYBRID
        )

    def _update_documents(self) -> SearchCache:
        return update_documents(self.session, self.search_cache, self.bundle)

    def _search(self, selector: Callable[[FullTextIndex], Selector]) -> list[RankedSkill]:
        return query_index(
            self.session,
            self.search_cache,
            self.bundle,
            lambda index: selector(index).rank(self.task, self.top),
        )
