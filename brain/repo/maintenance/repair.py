"""Repair a brain: drop pending writes that cannot be finished, and clear a wrong cache.

Nothing that is recorded changes. A cache that deviates from it is emptied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...errors import printable_text
from ...results import DoctorCheck
from ...verify import cache_check
from ..core import pending_writes
from ..core.transaction import lock_without_recovery
from ..open.session import Session


def repair_brain(session: Session) -> list[DoctorCheck]:
    """Repair what can be repaired, alone with the brain; return what was done.

    Raises `Locked`, and `StoreError` for a store that no repair can be told from.
    """
    with lock_without_recovery(session):
        return [done for one in _REPAIRS for done in one(session)]


def _drop_pending_writes(session: Session) -> Iterator[DoctorCheck]:
    for path, reason in pending_writes.write_or_drop_pending(session):
        name = printable_text(path) or "a note"
        hint = "`brain status` shows how the folder differs from the head"
        yield DoctorCheck("unfinished writes", True, f"dropped {name}: {reason}", hint)


def _repair_cache(session: Session) -> Iterator[DoctorCheck]:
    deviations = [
        *cache_check.card_deviations(cache_check.find_wrong_cards(session)),
        *cache_check.find_cache_deviations(session),
    ]
    if deviations:
        session.replace_cache()
    for _, message in deviations:
        yield DoctorCheck("cache", True, f"emptied: {message}", "it is made anew as it is needed")


_REPAIRS: tuple[Callable[[Session], Iterator[DoctorCheck]], ...] = (
    _drop_pending_writes,
    _repair_cache,
)
