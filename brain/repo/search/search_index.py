"""Keep the search index and the catalogue of skills up to date with a bundle.

The word index is a file in the user's cache, or in memory if that is not possible. After a
change of the head only the paths in the diff of the two trees are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

from ...cache.cache_folder import DERIVATION_VERSION as DERIVED
from ...encoding import pack, unpack
from ...errors import FormatError, Locked, NotFound, StoreError
from ...objects import bundle as bundles
from ...objects.bundle import Bundle
from ...objects.tree_entry import LINK
from ...search.bm25 import FIELD_WEIGHTS, index_fields
from ...search.selector import SearchDocument
from ...search.session_cache import SearchCache
from ...skills import skill_layout
from ...skills.skill_metadata import SkillMetadata
from ...store import full_text_index
from ...store.full_text_index import FullTextIndex
from ..open.session import Session
from ..read import card_cache, skill_lookup, skill_rows

SEARCH_INDEX_FORMAT = 2
"""Raised when the indexed texts of skills change."""
_MAX_INCREMENTAL_PATHS = 2000
"""With so many changed paths, everything is read again."""

T = TypeVar("T")


def get_search_cache(session: Session, bundle: Bundle) -> SearchCache:
    """Return the search cache of a bundle: the session's for the head, else a new one."""
    if bundle == session.bundle_of(session.head()):
        if session.search_cache is None:
            session.search_cache = SearchCache()
        return session.search_cache
    search_cache = SearchCache()
    search_cache.index = full_text_index.open_memory_full_text(FIELD_WEIGHTS)
    return search_cache


def query_index(
    session: Session, search_cache: SearchCache, bundle: Bundle, query: Callable[[FullTextIndex], T]
) -> T:
    """Return the result of `query` on the word index of a bundle's skills.

    If the file is damaged or locked, the index is built in memory.
    """
    if search_cache.index is None:
        search_cache.index = _open_index(session)
    try:
        _update_index(session, search_cache.index, bundle)
        return query(search_cache.index)
    except (Locked, StoreError) as error:
        search_cache.close()
        if session.cache.folder is not None and not isinstance(error, Locked):
            with suppress(OSError):
                full_text_index.delete_full_text_index(session.cache.folder)
        search_cache.index = full_text_index.open_memory_full_text(FIELD_WEIGHTS)
        _update_index(session, search_cache.index, bundle)
        return query(search_cache.index)


def _open_index(session: Session) -> FullTextIndex:
    folder = session.cache.folder
    if folder is None:
        return full_text_index.open_memory_full_text(FIELD_WEIGHTS)
    return full_text_index.open_full_text_index(folder, FIELD_WEIGHTS)


def update_catalogue(session: Session, search_cache: SearchCache, bundle: Bundle) -> SearchCache:
    """Return the search cache with its catalogue updated to the bundle."""
    before = search_cache.bundle
    if bundle != before:
        changed_paths = None if before is None else _find_changed_paths(session, before, bundle)
        if changed_paths is None:
            search_cache.catalogue.update(
                list(search_cache.catalogue.documents), _load_all_documents(session, bundle)
            )
        else:
            search_cache.catalogue.update(
                changed_paths, _load_documents(session, bundle, changed_paths)
            )
        search_cache.bundle = bundle
    return search_cache


def _update_index(session: Session, index: FullTextIndex, bundle: Bundle) -> None:
    state = pack((SEARCH_INDEX_FORMAT, DERIVED, bundles.bundle_id(bundle)))
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
        version, made, bundle_id = unpack(state) if state else (0, 0, b"")
        if (version, made) != (SEARCH_INDEX_FORMAT, DERIVED):
            return None
        return session.load_bundle(bundle_id)
    except (FormatError, ValueError, NotFound):
        return None


def _load_all_documents(session: Session, bundle: Bundle) -> list[SearchDocument]:
    return [_build_document(*one) for one in skill_lookup.iter_skills(session, bundle)]


def _build_document(path: str, name: str, blob: bytes, card: SkillMetadata) -> SearchDocument:
    return SearchDocument(
        path, skill_layout.slug_from_name(name), card.name or name, card.description, blob
    )


def _find_changed_paths(session: Session, before: Bundle, after: Bundle) -> list[str] | None:
    """Return the full paths whose skills may have changed.

    None if there are too many, or a tree of the bundle before no longer exists.
    """
    try:
        differences = bundles.diff_bundles(session.nodes, before, after)
        changed = [pair for pair in differences if skill_rows.may_be_skill(pair.path)]
        changed_paths = {path for path, _, _ in changed}
        for bundle in (before, after):
            changed_paths.update(
                pair.path
                for pair in skill_rows.find_reclassified(session, bundle, changed, changed_paths)
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
        name = skill_rows.find_skill_name(session, bundle, path)
        if name is not None:
            skills.append((path, name, entry.blob))
    cards = card_cache.load_cards(session, [blob for _, _, blob in skills])
    return [_build_document(path, name, blob, cards[blob]) for path, name, blob in skills]


def find_documents(
    session: Session, bundle: Bundle, paths: Iterable[str]
) -> dict[str, SearchDocument]:
    """Return the skills of a bundle at some full paths, without paths of other files."""
    return {one.path: one for one in _load_documents(session, bundle, paths)}
