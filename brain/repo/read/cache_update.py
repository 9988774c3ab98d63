"""Write to the cache what a transaction staged, as its last step."""

from __future__ import annotations

from ...cache.derived_cache import CacheUnusable
from ..open.session import Session
from . import index_update
from .lineage_cache import clear_derived_data, is_cached, is_redaction


def write_staged_updates(session: Session) -> None:
    """Write to the cache what the transaction that just ended staged for it.

    A snapshot whose parents are not cached is left out; the next reader catches up.
    """
    staged, session.staged_updates = list(session.staged_updates.values()), {}
    if not staged and not session.new_cards:
        return
    if any(is_redaction(session, update.derived.snapshot) for update in staged):
        clear_derived_data(session)
        return
    try:
        with session.cache.transaction():
            session.cache.put_metadata(session.new_cards.items())
            session.new_cards.clear()
            for update in staged:
                parents = session.load_snapshot(update.derived.snapshot).parents
                if all(is_cached(session, parent) for parent in parents):
                    session.cache.put_snapshots([update.derived])
                    session.snapshots_in_cache.add(update.derived.snapshot)
                    index_update.update_cached_index(session, update)
    except CacheUnusable:
        session.use_memory_cache()
