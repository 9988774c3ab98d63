"""The skills of a state of the brain, kept at hand for selection.

After a change of the head only what differs is looked at, by the diff of the two trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from ..errors import NotFound
from ..objects import bundle as bundles
from ..objects import compare, paths, tree
from ..objects.bundle import Bundle
from ..objects.compare import Difference
from ..objects.entry import LINK
from ..objects.tree import Root
from ..selection.protocol import Document
from ..selection.shelf import Shelf
from ..session import Session
from ..skills import layout
from ..skills.card import Card
from . import derived, find
from .derived import SECTION

_MANY = 2000
"""From so many changed paths on, everything is read anew."""


def at_head(session: Session) -> Shelf:
    """Return the skills of the head; what is kept of an earlier head is brought up to date."""
    bundle = session.bundle_of(session.head())
    shelf = session.shelf
    if shelf is None or not _followed(session, shelf, bundle):
        shelf = session.shelf = of_bundle(session, bundle)
    return shelf


def of_bundle(session: Session, bundle: Bundle) -> Shelf:
    """Return the skills of any bundle."""
    shelf = Shelf()
    found = find.places(session, bundle)
    shelf.catalogue.change((), (_document(*one) for one in found))
    shelf.root = bundle.get(SECTION)
    return shelf


def _document(path: str, name: str, blob: bytes, card: Card) -> Document:
    return Document(path, layout.slug_of(path), card.name or name, card.description, blob)


def _followed(session: Session, shelf: Shelf, bundle: Bundle) -> bool:
    """Bring `shelf` to another bundle; False if that takes more than to begin anew."""
    root = bundle.get(SECTION)
    if root == shelf.root:
        return True
    try:
        changed = list(compare.compare(session.nodes, shelf.root, root))
    except NotFound:  # what was there before has been collected
        return False
    if len(changed) >= _MANY:
        return False
    touched = {path for path, _, _ in changed}
    for category in _categories(changed):
        touched |= {path for path in shelf.catalogue.documents if path.startswith(category)}
        touched |= set(_loose(session, root, category))
    shelf.catalogue.change(touched, _documents(session, bundle, sorted(touched)))
    shelf.root = root
    return True


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


def _documents(session: Session, bundle: Bundle, touched: list[str]) -> list[Document]:
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
