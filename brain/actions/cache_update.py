"""Bringing the cache along with what was just recorded: the last step of a transaction."""

from __future__ import annotations

from ..cache.cache import Unusable
from ..session import Session
from . import lining
from .lineage_cache import forget, is_known, is_redaction


def settle(session: Session) -> None:
    """Write to the cache what the transaction that just ended staged for it.

    Where the cache does not know yet what came before, that is left to whoever asks for it.
    """
    staged, session.staged = list(session.staged.values()), {}
    if not staged and not session.new_cards:
        return
    if any(is_redaction(session, one.learned.snapshot) for one in staged):
        forget(session)
        return
    try:
        with session.cache.changing():
            session.cache.put_cards(session.new_cards.items())
            session.new_cards.clear()
            for one in staged:
                parents = session.load(one.learned.snapshot).parents
                if all(is_known(session, parent) for parent in parents):
                    session.cache.learn([one.learned])
                    session.learned.add(one.learned.snapshot)
                    lining.advance(session, one)
    except Unusable:
        session.lose_cache()
