"""The skills of the head, kept at hand for selection.

The index of words is a file in the user's cache, so that a command finds it as the last one
left it; where it cannot be, it is in memory. After a change of the head only what differs
is looked at, by the diff of the two trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import TypeVar

from ..cache.version import VERSION as DERIVED
from ..encoding import pack, unpack
from ..errors import FormatError, Locked, NotFound, StoreError
from ..objects import bundle as bundles
from ..objects import compare, paths, tree
from ..objects.bundle import Bundle
from ..objects.compare import Difference
from ..objects.entry import LINK
from ..objects.tree import Root
from ..selection.bm25 import WEIGHTS, texts
from ..selection.protocol import Document
from ..selection.shelf import Shelf
from ..session import Session
from ..skills import layout
from ..skills.card import Card
from ..store import fulltext
from ..store.fulltext import FullText
from . import derived, find
from .derived import SECTION

VERSION = 1
"""How the texts of skills are put into the index of words."""
_MANY = 2000
"""From so many changed paths on, everything is read anew."""

T = TypeVar("T")


def shelf_of(session: Session, bundle: Bundle) -> Shelf:
    """Return a shelf for a bundle: that of the session for the head, a new one for another."""
    if bundle == session.bundle_of(session.head()):
        if session.shelf is None:
            session.shelf = Shelf()
        return session.shelf
    shelf = Shelf()
    shelf.index = fulltext.in_memory(WEIGHTS)
    return shelf


def searched(session: Session, shelf: Shelf, bundle: Bundle, use: Callable[[FullText], T]) -> T:
    """Return what `use` makes of the index of the words of a bundle's skills.

    If something is wrong with the file, the index is made anew in memory.
    """
    if shelf.index is None:
        shelf.index = _opened(session)
    try:
        _follow(session, shelf.index, bundle)
        return use(shelf.index)
    except (Locked, StoreError) as error:
        shelf.close()
        if session.cache.folder is not None and not isinstance(error, Locked):
            with suppress(OSError):
                fulltext.remove(session.cache.folder)
        shelf.index = fulltext.in_memory(WEIGHTS)
        _follow(session, shelf.index, bundle)
        return use(shelf.index)


def _opened(session: Session) -> FullText:
    folder = session.cache.folder
    if folder is None:
        return fulltext.in_memory(WEIGHTS)
    return fulltext.open_index(folder, WEIGHTS)


def catalogued(session: Session, shelf: Shelf, bundle: Bundle) -> Shelf:
    """Return the shelf with its catalogue as the bundle has the skills."""
    root = bundle.get(SECTION)
    if root != shelf.root:
        touched = _touched(session, shelf.root, root) if shelf.root else None
        if touched is None:
            shelf.catalogue.change(list(shelf.catalogue.documents), _all(session, bundle))
        else:
            shelf.catalogue.change(touched, _documents(session, bundle, touched))
        shelf.root = root
    return shelf


def _follow(session: Session, index: FullText, bundle: Bundle) -> None:
    root = bundle.get(SECTION)
    state = pack((VERSION, DERIVED, root.node if root else b""))
    if index.state == state:
        return
    with index.changing():
        before = _root_of(index.state)
        touched = _touched(session, before, root) if before else None
        if touched is None:
            index.clear()
            touched, came = [], _all(session, bundle)
        else:
            came = _documents(session, bundle, touched)
        index.change(state, touched, ((one.path, texts(one)) for one in came))


def _root_of(state: bytes) -> Root | None:
    """Return the tree that an index stands for, None if that cannot be gone on from."""
    try:
        version, made, node = unpack(state) if state else (0, 0, b"")
    except (FormatError, ValueError):
        return None
    known = (version, made) == (VERSION, DERIVED) and node
    return Root(node, 0, 0) if known else None


def _all(session: Session, bundle: Bundle) -> list[Document]:
    return [_document(*one) for one in find.places(session, bundle)]


def _document(path: str, name: str, blob: bytes, card: Card) -> Document:
    return Document(path, layout.slug_of(path), card.name or name, card.description, blob)


def _touched(session: Session, before: Root, after: Root | None) -> list[str] | None:
    """Return the paths that may be, or have been, skills, and may be otherwise now.

    None if there are too many, or nobody knows any more what was there before.
    """
    try:
        changed = list(compare.compare(session.nodes, before, after))
        touched = {path for path, _, _ in changed}
        for category in _categories(changed):
            for root in (before, after):
                touched.update(_loose(session, root, category))
    except NotFound:  # what was there before has been collected
        return None
    return sorted(touched) if len(touched) < _MANY else None


def _categories(changed: Iterable[Difference]) -> Iterator[str]:
    """Yield the top-level folders that got or lost a SKILL.md.

    The Markdown files beside it are skills only where there is none.
    """
    for path, was, now in changed:
        folder, slash, name = path.partition("/")
        if slash and name in layout.SKILL_FILES and (was is None or now is None):
            yield folder + slash


def _loose(session: Session, root: Root | None, category: str) -> Iterator[str]:
    """Yield the paths of the files right in a top-level folder."""
    for entry in tree.walk(session.nodes, root, category):
        if not entry.path.startswith(category):
            break
        if "/" not in entry.path[len(category) :]:
            yield entry.path


def _documents(session: Session, bundle: Bundle, touched: Iterable[str]) -> list[Document]:
    """Return those of the `touched` paths that are skills now."""
    has_any = partial(tree.has_any, session.nodes, bundle.get(SECTION))
    there: list[tuple[str, str, bytes]] = []
    for path in touched:
        entry = bundles.get(session.nodes, bundle, paths.join(SECTION, path))
        if entry is None or entry.kind == LINK:
            continue
        name = layout.classify(path, has_any)
        if name is not None:
            there.append((path, name, entry.blob))
    cards = derived.cards(session, [blob for _, _, blob in there])
    return [_document(path, name, blob, cards[blob]) for path, name, blob in there]


def documents(session: Session, bundle: Bundle, found: Iterable[str]) -> dict[str, Document]:
    """Return the skills of a bundle at some paths; what is no skill is left out."""
    return {one.path: one for one in _documents(session, bundle, found)}
