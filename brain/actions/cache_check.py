"""Whether what the user's cache holds follows from the objects of the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ..cache.cache import SkillRow, Unusable
from ..errors import FormatError, NotFound, StoreError
from ..session import Session
from ..skills.card import encode_card, read_card
from . import derived, lineage_cache, lining

_CARDS = 4096
"""Cards that are compared together."""

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


def check(session: Session, wrong_cards: Iterable[bytes]) -> Iterator[Deviation]:
    """Yield where the cache deviates: `wrong_cards` are the blobs of which it has other cards.

    Its histories of skills, its merges and its index are made anew and compared.
    """
    for blob in wrong_cards:
        yield b"", f"the cache has another card of blob {blob.hex()} than its content"
    try:
        yield from _lineages(session)
        if not lining.is_sound(session):
            yield b"", "the cache has another text of the index than its skills"
    except Unusable as error:
        yield b"", f"the cache cannot be read: {error}"


def repair(session: Session) -> list[str]:
    """Replace the cache if it deviates; return what was wrong with it."""
    found = [message for _, message in check(session, _wrong_cards(session))]
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


def _lineages(session: Session) -> Iterator[Deviation]:
    kept: dict[bytes, list[SkillRow]] = {}
    for row in session.cache.every_row():
        kept.setdefault(row.snapshot, []).append(row)
    merges = dict(session.cache.merges())
    names = session.cache.every_name()
    seen: set[bytes] = set()
    left = [root for root in session.reader.refs().values() if session.cache.knows(root)]
    while left:
        here = left.pop()
        if here in seen:
            continue
        seen.add(here)
        left += session.load(here).parents
        right = lineage_cache.learned_of(session, here)
        told = [(slug, row.path) for row in right.rows for slug in row.slugs]
        if (
            sorted(right.rows) != sorted(kept.get(here, []))
            or merges.get(here) != right.merge
            or not names.issuperset((*right.names, *told))
        ):
            yield here, "the cache has other changes of skills, or other parents, of it"
