"""Repair a brain: drop pending writes that cannot be finished, and clear a wrong cache.

Recorded snapshots never change.
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
    """Run all repairs under the write lock; return what they did.

    Raises `Locked`, and `StoreError` for a store that cannot be read.
    """
    with lock_without_recovery(session):
        return [result for repair in _REPAIRS for result in repair(session)]


def _drop_pending_writes(session: Session) -> Iterator[DoctorCheck]:
    for path, reason in pending_writes.write_or_drop_pending(session):
        name = printable_text(path) or "a damaged row"
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
