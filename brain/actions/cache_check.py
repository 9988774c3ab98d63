"""Whether what the user's cache holds follows from the objects of the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ..cache.cache import SkillRow, Unusable
from ..errors import FormatError, NotFound, StoreError, printable
from ..session import Session
from ..skills.card import encode_card, read_card
from . import derived, find, lineage_cache, lines, lining

_CARDS = 4096
"""Cards that are compared together."""

_INDEX = "the cache has another text of the index than its skills"

Look = Callable[[bytes, bytes], bool]
"""Tells whether a blob, given with its content, is not what the cache says of it."""
Deviation = tuple[bytes, str]
"""The snapshot that the cache is wrong about, empty for none, and what is wrong."""


def card_check(session: Session) -> Look:
    """Return what tells whether the card that is kept of a blob is another one than its own."""
    try:
        kept = dict(session.cache.every_card())
    except (Unusable, FormatError, NotFound, StoreError):  # nobody can say whose cache it is
        kept = {}

    def differs(blob: bytes, content: bytes) -> bool:
        card = kept.get(blob)
        return card is not None and card != encode_card(read_card(content, ""))

    return differs


def of_cards(wrong: Iterable[bytes]) -> Iterator[Deviation]:
    """Yield what is wrong with the blobs of which the cache has other cards."""
    for blob in wrong:
        yield b"", f"the cache has another card of blob {blob.hex()} than its content"


def check(session: Session) -> Iterator[Deviation]:
    """Yield where the cache deviates, but for its cards.

    Its histories of skills, its merges, names and index are made anew and compared; of a
    snapshot that changed very many skills, what it says of those that are still there.
    """
    try:
        names = session.cache.every_name()
        yield from _lineages(session, names)
        yield from _head(session, names)
    except Unusable as error:
        yield b"", f"the cache cannot be read: {error}"


def _head(session: Session, names: set[tuple[str, str]]) -> Iterator[Deviation]:
    """Compare what is said of the skills of one tree, reading their cards once."""
    found = lines.kept(session)
    if found is None and session.cache.sheet_note():
        yield b"", _INDEX
    head = session.head()
    bundle = found[0].bundle if found else session.bundle_of(head)
    lost: list[str] = []

    def places() -> Iterator[lining.Place]:
        for place in find.places(session, bundle):
            path = f"{derived.SECTION}/{place[0]}"
            if any(
                (slug, path) not in names for slug in derived.unusual_slugs(path, place[3].name)
            ):
                lost.append(path)
            yield place

    try:
        kept = found[1] if found else lines.Lines([], 0)
        if not lining.is_made_of(session, kept, places()) and found:
            yield b"", _INDEX
    except NotFound:  # it is of a tree that only another copy of the brain has
        return
    if lost and session.cache.knows(head):
        yield b"", f"the cache lacks a name of {printable(lost[0])}"


def repair(session: Session) -> list[str]:
    """Replace the cache if it deviates; return what was wrong with it."""
    found = [message for _, message in (*of_cards(_wrong_cards(session)), *check(session))]
    if found:
        session.replace_cache()
    return found


def _wrong_cards(session: Session) -> Iterator[bytes]:
    look = card_check(session)
    try:
        blobs = [blob for blob, _ in session.cache.every_card()]
    except Unusable:
        return
    here = sorted(set(blobs) - session.reader.missing(blobs))
    for start in range(0, len(here), _CARDS):
        contents = derived.skill_contents(session, here[start : start + _CARDS])
        yield from (blob for blob, content in contents if look(blob, content))


def _lineages(session: Session, names: set[tuple[str, str]]) -> Iterator[Deviation]:
    kept: dict[bytes, list[SkillRow]] = {}
    for row in session.cache.every_row():
        kept.setdefault(row.snapshot, []).append(row)
    merges = dict(session.cache.merges())
    seen: set[bytes] = set()
    left = [root for root in session.reader.refs().values() if session.cache.knows(root)]
    while left:
        here = left.pop()
        if here in seen:
            continue
        seen.add(here)
        left += session.load(here).parents
        right = lineage_cache.brief_of(session, here)
        told = {(slug, row.path) for row in right.rows for slug in row.slugs}
        if (
            sorted(right.rows) != sorted(kept.get(here, []))
            or merges.get(here) != right.merge
            or not told <= names
        ):
            yield here, "the cache has other changes of skills, or other parents, of it"
