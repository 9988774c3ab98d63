"""Load the cards of skills, and keep new ones in the user's cache.

A writer stages the cards of new skills, which are written after its transaction; a reader
stages those that it had to read from content. Their content was hashed to its id.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from ...cache.derived_cache import CacheUnusable
from ...skills.skill_metadata import SkillMetadata, encode_skill_metadata, read_skill_metadata
from ..open.session import Session
from .skill_rows import CONTENT_UNREAD_FLAGS, find_cards, note_declared_name

_CARDS_PER_BATCH = 4096
"""Number of staged cards from which on they are written at once."""


def load_cards(session: Session, blobs: Iterable[bytes]) -> dict[bytes, SkillMetadata]:
    """Return the cards of SKILL.md blobs; the cache keeps those it lacked."""
    return find_cards(session, blobs, _keep_read_cards)


def _keep_read_cards(session: Session, cards: dict[bytes, SkillMetadata]) -> None:
    stage_cards(
        session,
        (
            (blob, encode_skill_metadata(card))
            for blob, card in cards.items()
            if card.flags not in CONTENT_UNREAD_FLAGS
        ),
    )
    if session.reader is session.store:  # no transaction is open, which would write them
        write_staged_cards(session)


def build_card_row(session: Session, path: str, blob: bytes, content: bytes) -> tuple[bytes, bytes]:
    """Return the row of the card of a SKILL.md that is being stored."""
    card = read_skill_metadata(content, "")
    session.keep_loaded_cards({blob: card})
    note_declared_name(session, path, blob, card.name)
    return blob, encode_skill_metadata(card)


def stage_cards(session: Session, rows: Iterable[tuple[bytes, bytes]]) -> None:
    """Stage cards, given as (blob, card), for the cache; very many are written at once."""
    session.new_cards.update(rows)
    if len(session.new_cards) >= _CARDS_PER_BATCH:
        write_staged_cards(session)


def write_staged_cards(session: Session) -> None:
    """Write the staged cards to the cache, ignoring errors: they can be read again.

    Cards of content that was redacted meanwhile are left out. The cache is opened before
    that check, so that a cache created after a later redaction never gets them.
    """
    staged, session.new_cards = session.new_cards, {}
    if staged:
        cache = session.cache
        gone = session.reader.find_redactions(list(staged))
        with suppress(CacheUnusable), cache.transaction():
            cache.put_metadata(pair for pair in staged.items() if pair[0] not in gone)
