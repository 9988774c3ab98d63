"""Comparing the whole stat cache; a large one in several processes.

lstat under one interpreter lock is slow, so children do it, in the folder of the brain
as their own, which spares them `dir_fd`. They take groups of parts and answer with the
places of what differs. Groups that none answers for are compared here.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from .compare import Lstat, compare, entries_at, lstat_below
from .statcache import PART, StatCache

Tick = Callable[[int], None]

_ENTRIES = 20_000
"""Below this the fork costs more than it saves."""
_FEWEST_PARTS = 4
_MOST_GROUPS = 1024


def differing(cache: StatCache, root_fd: int, tick: Tick) -> list[tuple[str, bytes]]:
    """Return path and known fingerprint of every entry that is gone or differs.

    `tick` is told the number of entries compared so far, about.
    """
    size = max(_FEWEST_PARTS, -(-len(cache.parts) // _MOST_GROUPS))
    groups = range(-(-len(cache.parts) // size))

    def places_in(group: int, lstat: Lstat) -> list[int]:
        return compare(range(len(cache.parts))[group * size : (group + 1) * size], cache, lstat)

    def work(group: int) -> list[int]:
        os.fchdir(root_fd)
        return places_in(group, os.lstat)

    left = dict.fromkeys(groups)
    places: list[int] = []
    if len(cache.parts) * PART >= _ENTRIES:
        from ..forking import answers, helpers

        for group, answer in answers(helpers(), len(groups), work):
            places += answer
            del left[group]
            tick((len(groups) - len(left)) * size * PART)
    for done, group in enumerate(left, len(groups) - len(left) + 1):
        places += places_in(group, lstat_below(root_fd))
        tick(done * size * PART)
    return list(entries_at(cache, sorted(places)))
