"""Keep the search index and the catalogue of skills up to date with a bundle.

The word index is a file in the user's cache, or in memory if that is not possible. After a
change of the head only the paths in the diff of the two trees are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import TypeVar

from ...cache.cache_folder import DERIVATION_VERSION as DERIVED
from ...encoding import pack, unpack
from ...errors import FormatError, Locked, NotFound, StoreError
from ...objects import bundle as bundles
from ...objects import paths, tree, tree_diff
from ...objects.bundle import Bundle
from ...objects.tree import TreeRoot
from ...objects.tree_diff import Difference
from ...objects.tree_entry import LINK
from ...search.bm25 import FIELD_WEIGHTS, index_fields
from ...search.selector import SearchDocument
from ...search.session_cache import SearchCache
from ...skills import SKILLS_SECTION, skill_layout
from ...skills.skill_metadata import SkillMetadata
from ...store import full_text_index
from ...store.full_text_index import FullTextIndex
from ..open.session import Session
from ..read import card_cache, skill_lookup

SEARCH_INDEX_FORMAT = 1
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
    root = bundle.get(SKILLS_SECTION)
    if root != search_cache.root:
        changed_paths = (
            _find_changed_paths(session, search_cache.root, root) if search_cache.root else None
        )
        if changed_paths is None:
            search_cache.catalogue.update(
                list(search_cache.catalogue.documents), _load_all_documents(session, bundle)
            )
        else:
            search_cache.catalogue.update(
                changed_paths, _load_documents(session, bundle, changed_paths)
            )
        search_cache.root = root
    return search_cache


def _update_index(session: Session, index: FullTextIndex, bundle: Bundle) -> None:
    root = bundle.get(SKILLS_SECTION)
    state = pack((SEARCH_INDEX_FORMAT, DERIVED, root.node if root else b""))
    if index.state == state:
        return
    with index.transaction():
        before = _decode_state(index.state)
        changed_paths = _find_changed_paths(session, before, root) if before else None
        if changed_paths is None:
            index.clear()
            changed_paths, new_documents = [], _load_all_documents(session, bundle)
        else:
            new_documents = _load_documents(session, bundle, changed_paths)
        index.update(state, changed_paths, ((one.path, index_fields(one)) for one in new_documents))


def _decode_state(state: bytes) -> TreeRoot | None:
    try:
        version, made, node = unpack(state) if state else (0, 0, b"")
    except (FormatError, ValueError):
        return None
    known = (version, made) == (SEARCH_INDEX_FORMAT, DERIVED) and node
    return TreeRoot(node, 0, 0) if known else None


def _load_all_documents(session: Session, bundle: Bundle) -> list[SearchDocument]:
    return [_build_document(*one) for one in skill_lookup.iter_skills(session, bundle)]


def _build_document(path: str, name: str, blob: bytes, card: SkillMetadata) -> SearchDocument:
    return SearchDocument(
        path, skill_layout.slug_from_path(path), card.name or name, card.description, blob
    )


def _find_changed_paths(
    session: Session, before: TreeRoot, after: TreeRoot | None
) -> list[str] | None:
    """Return the paths whose skills may have changed.

    None if there are too many, or the tree before no longer exists.
    """
    try:
        changed = list(tree_diff.diff_trees(session.nodes, before, after))
        changed_paths = {path for path, _, _ in changed}
        for category in _find_changed_categories(changed):
            for root in (before, after):
                changed_paths.update(_list_direct_files(session, root, category))
    except NotFound:  # the tree before was collected
        return None
    return sorted(changed_paths) if len(changed_paths) < _MAX_INCREMENTAL_PATHS else None


def _find_changed_categories(changed: Iterable[Difference]) -> Iterator[str]:
    """Yield the top-level folders that gained or lost a SKILL.md.

    The Markdown files beside it are skills only without one.
    """
    for path, was, now in changed:
        folder, slash, name = path.partition("/")
        if slash and name in skill_layout.SKILL_FILES and (was is None or now is None):
            yield folder + slash


def _list_direct_files(session: Session, root: TreeRoot | None, category: str) -> Iterator[str]:
    for entry in tree.walk_tree(session.nodes, root, category):
        if not entry.path.startswith(category):
            break
        if "/" not in entry.path[len(category) :]:
            yield entry.path


def _load_documents(
    session: Session, bundle: Bundle, changed_paths: Iterable[str]
) -> list[SearchDocument]:
    has_any = partial(tree.has_any_path, session.nodes, bundle.get(SKILLS_SECTION))
    skills: list[tuple[str, str, bytes]] = []
    for path in changed_paths:
        entry = bundles.get_entry(session.nodes, bundle, paths.join_section(SKILLS_SECTION, path))
        if entry is None or entry.kind == LINK:
            continue
        name = skill_layout.match_skill_path(path, has_any)
        if name is not None:
            skills.append((path, name, entry.blob))
    cards = card_cache.load_cards(session, [blob for _, _, blob in skills])
    return [_build_document(path, name, blob, cards[blob]) for path, name, blob in skills]


def find_documents(
    session: Session, bundle: Bundle, paths_in_section: Iterable[str]
) -> dict[str, SearchDocument]:
    """Return the skills of a bundle at some paths, without paths of other files."""
    return {one.path: one for one in _load_documents(session, bundle, paths_in_section)}
