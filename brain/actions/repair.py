"""Repairs: what keeps every writer from a brain is put out of the way, and named.

Nothing that is recorded changes. A cache that deviates from it is emptied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..errors import printable
from ..results import Checkup
from ..session import Session
from . import announced, cache_check
from .turn import held


def repair(session: Session) -> list[Checkup]:
    """Repair what can be repaired, alone with the brain; return what was done.

    Raises `Locked`, and `StoreError` for a store that no repair can be told from.
    """
    with held(session):
        return [done for one in _REPAIRS for done in one(session)]


def _pending(session: Session) -> Iterator[Checkup]:
    for path, reason in announced.write_or_drop(session):
        name = printable(path) or "a note"
        hint = "`brain status` shows how the folder differs from the head"
        yield Checkup("unfinished writes", True, f"dropped {name}: {reason}", hint)


def _cache(session: Session) -> Iterator[Checkup]:
    for message in cache_check.repair(session):
        yield Checkup("cache", True, f"emptied: {message}", "it is made anew as it is needed")


_REPAIRS: tuple[Callable[[Session], Iterator[Checkup]], ...] = (_pending, _cache)
