"""Whether what the user's cache holds follows from the objects of the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ..actions import lineage_cache, lining
from ..cache.cache import SkillRow, Unusable
from ..results import Finding
from ..session import Session
from ..skills.card import encode_card, read_card
from . import lineages

CODE = "wrong_cache"
_HEAL = "heal it with `brain doctor --repair`"

Look = Callable[[bytes, bytes], bool]
"""Tells whether a blob, given with its content, is not what the cache says of it."""


def card_check(session: Session) -> Look:
    """Return what tells whether the card that is kept of a blob is another one than its own."""
    try:
        kept = dict(session.cache.every_card())
    except Unusable:
        kept = {}

    def differs(blob: bytes, content: bytes) -> bool:
        card = kept.get(blob)
        return card is not None and card != encode_card(read_card(content, ""))

    return differs


def check(session: Session, wrong_cards: Iterable[bytes]) -> Iterator[Finding]:
    """Yield where the cache deviates: `wrong_cards` are the blobs of which it has other cards.

    Its histories of skills, its merges and its index are made anew and compared.
    """
    for blob in wrong_cards:
        yield _finding("", f"the card of blob {blob.hex()} is not that of its content; {_HEAL}")
    try:
        yield from _lineages(session)
        if not lining.is_sound(session):
            yield _finding("", f"the text of the index is not that of its skills; {_HEAL}")
    except Unusable as error:
        yield _finding("", f"the cache cannot be read ({error}); {_HEAL}")


def _lineages(session: Session) -> Iterator[Finding]:
    kept: dict[bytes, list[SkillRow]] = {}
    for row in session.cache.every_row():
        kept.setdefault(row.snapshot, []).append(row)
    merges = dict(session.cache.merges())
    names = session.cache.every_name()
    known = {root for root in session.reader.refs().values() if session.cache.knows(root)}
    for here, _ in lineages.reachable(session, sorted(known)):
        right = lineage_cache.learned_of(session, here)
        told = [(slug, row.path) for row in right.rows for slug in row.slugs]
        if (
            sorted(right.rows) != sorted(kept.get(here, []))
            or merges.get(here) != right.merge
            or not names.issuperset((*right.names, *told))
        ):
            yield _finding(here.hex(), f"what is kept of its skills or parents is wrong; {_HEAL}")


def _finding(snapshot: str, message: str) -> Finding:
    return Finding(CODE, "error", snapshot, "", message)
