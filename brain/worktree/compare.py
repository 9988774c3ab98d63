"""Which entries of the stat cache no longer match the file system.

A part of the cache is compared at once: its paths go through lstat and the packed
outcome is compared with what is stored. Only parts that differ are looked at closely.
The links that such a path could lead through do no harm here: a folder that became a
link differs itself, and whoever reads the result drops what lies below.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import starmap

from . import stats
from .statcache import Part, StatCache

Lstat = Callable[[bytes], os.stat_result]

_GONE = bytes(stats.SIZE)


def lstat_below(root_fd: int) -> Lstat:
    """Return an lstat for paths relative to `root_fd`."""
    return partial(os.lstat, dir_fd=root_fd)


def compare(numbers: Iterable[int], cache: StatCache, lstat: Lstat) -> list[int]:
    """Return the places of the entries that differ or are gone, in the parts `numbers`.

    A place is part number << 16 | entry number.
    """
    places: list[int] = []
    for number in numbers:
        part = cache.parts[number]
        now = _fingerprints(part, lstat)
        if now != part.stats:
            places.extend(number << 16 | entry for entry in _unequal(part.stats, now))
    return places


def entries_at(cache: StatCache, places: Iterable[int]) -> Iterator[tuple[str, bytes]]:
    """Return path and known fingerprint of the entries at `places`."""
    rows: list[tuple[bytes, bytes]] = []
    last = -1
    for place in places:
        if place >> 16 != last:
            last = place >> 16
            rows = list(cache.parts[last].entries())
        path, known = rows[place & 0xFFFF]
        yield path.decode(), known


def _fingerprints(part: Part, lstat: Lstat) -> bytes:
    paths = part.paths.split(b"\0")
    try:
        return b"".join(starmap(stats.pack, map(stats.fields, map(lstat, paths))))
    except (OSError, struct.error):
        return b"".join([_fingerprint(path, lstat) for path in paths])


def _fingerprint(path: bytes, lstat: Lstat) -> bytes:
    """Return the fingerprint of one file; what cannot be looked at differs from anything."""
    try:
        return stats.fingerprint(lstat(path))
    except OSError:
        return _GONE


def _unequal(before: bytes, now: bytes) -> list[int]:
    size = stats.SIZE
    starts = range(0, len(now), size)
    return [at // size for at in starts if before[at : at + size] != now[at : at + size]]
