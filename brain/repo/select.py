"""Select the skills of a state that fit a task, of those that a model may start.

The word index is in the user's cache; after a change of the head only the paths in the diff of the
two trees are read for it. The other selectors read the cards of all skills then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

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
from ..objects.tree_node import LINK
from ..results import Selected, Selection
from ..search import full_text
from ..search.full_text import FullTextIndex
from ..search.selectors import (
    FIELD_WEIGHTS,
    Bm25Selector,
    HybridSelector,
    SearchCache,
    SearchDocument,
    index_fields,
)
from ..skills import skill_layout
from ..skills.skill_metadata import SkillMetadata
from . import derive, lineage_cache
from .find_skill import Skills
from .session import BrainState, Session

if TYPE_CHECKING:
    from ..search.embedder import Embedder
    from ..search.selectors import RankedSkill, Selector


SEARCH_INDEX_FORMAT = 3
"""Raised when the indexed texts of skills change."""
_MAX_INCREMENTAL_PATHS = 2000
"""With so many changed paths, everything is read again."""

T = TypeVar("T")


def get_search_cache(state: BrainState) -> SearchCache:
    """Return the search cache of a state: the session's for the head, else a new one."""
    session = state.session
    _ = session.cache  # the cache of before has words of what was redacted
    if state != session.at():
        return SearchCache(full_text.open_memory_full_text(FIELD_WEIGHTS))
    if session.search_cache is None:
        session.search_cache = SearchCache()
    return session.search_cache


def query_index(
    search_cache: SearchCache, state: BrainState, query: Callable[[FullTextIndex], T]
) -> T:
    """Return the result of `query` on the word index of a state's skills.

    If the cache is damaged or locked, the index is built in memory.
    """
    try:
        if search_cache.index is None:
            search_cache.index = FullTextIndex(state.session.cache.db, FIELD_WEIGHTS)
        _update_index(search_cache.index, state)
        return query(search_cache.index)
    except (Locked, StoreError) as error:
        if not isinstance(error, Locked):
            state.session.replace_cache()
        search_cache.index = full_text.open_memory_full_text(FIELD_WEIGHTS)
        _update_index(search_cache.index, state)
        return query(search_cache.index)


def _update_index(index: FullTextIndex, state: BrainState) -> None:
    wanted = pack((SEARCH_INDEX_FORMAT, state.id))
    if index.state == wanted:
        return
    with index.transaction():
        changed_paths = _find_changed_paths(index.state, state)
        if changed_paths is None:
            index.clear()
            changed_paths, new_documents = [], _load_all_documents(state)
        else:
            new_documents = _load_documents(state, changed_paths)
        index.update(
            wanted, changed_paths, ((one.path, index_fields(one)) for one in new_documents)
        )


def _load_all_documents(state: BrainState) -> list[SearchDocument]:
    return [_build_document(*one) for one in Skills(state).iter() if not one[3].is_user_only]


def _build_document(path: str, name: str, blob: bytes, card: SkillMetadata) -> SearchDocument:
    return SearchDocument(
        path, skill_layout.slug_from_name(name), card.name or name, card.description, blob
    )


def _find_changed_paths(indexed: bytes, after: BrainState) -> list[str] | None:
    """Return the full paths whose skills may have changed since the state that is indexed.

    None for another format, if there are too many, or if the tree of that state was collected.
    """
    try:
        version, bundle_id = unpack(indexed) if indexed else (0, b"")
        if version != SEARCH_INDEX_FORMAT:
            return None
        before = after.session.load_state(bundle_id)
        changed = derive.diff_skills(before, after, _MAX_INCREMENTAL_PATHS)
        paths = {path for path, _, _ in changed}
        paths |= {pair.path for pair in derive.find_reclassified(before, after, changed, paths)}
    except (FormatError, ValueError, NotFound):
        return None
    return sorted(paths) if len(paths) < _MAX_INCREMENTAL_PATHS else None


def _load_documents(state: BrainState, changed_paths: Iterable[str]) -> list[SearchDocument]:
    skills: list[tuple[str, str, bytes]] = []
    for path in changed_paths:
        entry = state.get(path)
        if entry is None or entry.kind == LINK:
            continue
        name = derive.find_skill_name(state, path)
        if name is not None:
            skills.append((path, name, entry.blob))
    cards = lineage_cache.load_cards(state.session, [blob for _, _, blob in skills])
    return [
        _build_document(path, name, blob, cards[blob])
        for path, name, blob in skills
        if not cards[blob].is_user_only
    ]


def find_documents(state: BrainState, paths: Iterable[str]) -> dict[str, SearchDocument]:
    """Return the skills of a state at some full paths, without paths of other files."""
    return {one.path: one for one in _load_documents(state, paths)}


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
    return select_from_state(session.at(rev), task, limit, by)


def select_from_state(state: BrainState, task: str, limit: int, by: str) -> Selection:
    """Return the skills of a state that a task needs; see `select_skills`.

    The ranking comes from a cache, names and descriptions from the state.
    """
    if by not in ("", *SELECTOR_NAMES):
        raise InvalidInput(
            f"there is no selector {printable_text(by, 80)}",
            code="bad_selector",
            hint=f"use one of: {', '.join(SELECTOR_NAMES)}",
        )
    ranked, ranked_by, fallback = _rank(state, task, limit, by)
    known = find_documents(state, [one.path for one in ranked])
    found = [one for one in ranked if one.path in known]
    addresses = Skills(state).addresses([one.path for one in found])
    skills = [
        Selected(
            skill.slug, skill.name, skill.description, one.path, one.score, addresses[one.path]
        )
        for one in found
        for skill in [known[one.path]]
    ]
    return Selection(skills, ranked_by, fallback)


def _rank(
    state: BrainState, task: str, limit: int, by: str
) -> tuple[list[RankedSkill], str, str | None]:
    """Return a ranking, its selector, and why it is not by meaning if that was requested."""
    search_cache = get_search_cache(state)

    def rank_by_index(selector: Callable[[FullTextIndex], Selector]) -> list[RankedSkill]:
        return query_index(search_cache, state, lambda index: selector(index).rank(task, limit))

    if by == KEYWORD:
        _load_documents_once(search_cache, state)
        return search_cache.keyword.rank(task, limit), KEYWORD, None
    fallback = None
    try:
        embedder = state.session.open_embedder and by != BM25 and state.session.open_embedder()
        if embedder:
            meaning = _select_by_meaning(search_cache, state, embedder)
            if by == EMBEDDING:
                return meaning.rank(task, limit), EMBEDDING, None
            ranked = rank_by_index(lambda index: HybridSelector(meaning, Bm25Selector(index)))
            return ranked, HYBRID, None
    except (ModelError, InvalidInput, OSError) as error:
        if by == EMBEDDING:
            raise
        fallback = str(error)
    if by in (EMBEDDING, HYBRID) and fallback is None:
        raise NotFound(
            "no embedder is configured",
            code="no_embedder",
            hint="name one with `brain config embedder`, or select --by bm25",
        )
    return rank_by_index(Bm25Selector), BM25, fallback


def _select_by_meaning(
    search_cache: SearchCache, state: BrainState, embedder: Embedder
) -> Selector:
    from ..search.meaning import EmbeddingSelector

    _load_documents_once(search_cache, state)
    if search_cache.embedding is None:
        search_cache.embedding = EmbeddingSelector(
            search_cache.documents, embedder, state.session.cache.db
        )
    return search_cache.embedding


def _load_documents_once(search_cache: SearchCache, state: BrainState) -> None:
    if search_cache.bundle != state:
        search_cache.documents.clear()
        search_cache.documents.update((one.path, one) for one in _load_all_documents(state))
        search_cache.bundle = state
