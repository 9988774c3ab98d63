"""Rescan: compare the stat cache with the file system, and classify what differs.

The packed lstat results of all paths of a part are compared with the stored bytes at once. Only
parts that differ are compared entry by entry. A path through a link does no harm: a folder
that became a link differs itself, and its entries are dropped.

lstat under one interpreter lock is slow, so children call it, with the folder of the brain as
their current folder, which avoids `dir_fd`. They process groups of parts and return the places
of entries that differ. The parent compares groups without a result.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import starmap

from ..errors import InvalidInput
from . import file_fingerprint
from .dirfd import unreadable_error
from .stat_cache import PATHS_PER_PART, ROOT_FOLDER_PATH, StatCache, StatCachePart
from .walk import FolderWalk

LstatCall = Callable[[bytes], os.stat_result]

_ABSENT_FINGERPRINT = bytes(file_fingerprint.FINGERPRINT_BYTES)


def compare_parts(numbers: Iterable[int], cache: StatCache, lstat: LstatCall) -> list[int]:
    """Return the places of changed and missing entries in the parts `numbers`.

    A place is part number << 16 | entry number.
    """
    places: list[int] = []
    for number in numbers:
        part = cache.parts[number]
        now = _part_fingerprints(part, lstat)
        if now != part.fingerprints:
            places.extend(number << 16 | entry for entry in _find_unequal(part.fingerprints, now))
    return places


def read_entries_at(cache: StatCache, places: Iterable[int]) -> Iterator[tuple[str, bytes]]:
    """Yield path and known fingerprint of the entries at `places`."""
    rows: list[tuple[bytes, bytes]] = []
    last = -1
    for place in places:
        if place >> 16 != last:
            last = place >> 16
            rows = list(cache.parts[last].entries())
        path, stored = rows[place & 0xFFFF]
        yield path.decode(), stored


def _part_fingerprints(part: StatCachePart, lstat: LstatCall) -> bytes:
    paths = part.paths.split(b"\0")
    try:
        return b"".join(
            starmap(
                file_fingerprint.pack_fingerprint,
                map(file_fingerprint.stat_fields, map(lstat, paths)),
            )
        )
    except (OSError, struct.error):
        return b"".join([_fingerprint_path(path, lstat) for path in paths])


def _fingerprint_path(path: bytes, lstat: LstatCall) -> bytes:
    try:
        return file_fingerprint.fingerprint_of(lstat(path))
    except OSError:
        return _ABSENT_FINGERPRINT


def _find_unequal(before: bytes, now: bytes) -> list[int]:
    size = file_fingerprint.FINGERPRINT_BYTES
    starts = range(0, len(now), size)
    return [at // size for at in starts if before[at : at + size] != now[at : at + size]]


CountCallback = Callable[[int], None]

_MIN_ENTRIES_TO_FORK = 20_000
"""For fewer entries, forking costs more than it saves."""
_MIN_PARTS_PER_GROUP = 4
_MAX_GROUPS = 1024


def find_differing_entries(
    cache: StatCache, root_fd: int, tick: CountCallback
) -> list[tuple[str, bytes]]:
    """Return path and known fingerprint of every changed or missing entry.

    `tick` gets the approximate number of compared entries.
    """
    numbers = range(len(cache.parts))
    size = max(_MIN_PARTS_PER_GROUP, -(-len(numbers) // _MAX_GROUPS))
    groups = range(-(-len(numbers) // size))

    def places_in(group: int, lstat: LstatCall) -> list[int]:
        return compare_parts(numbers[group * size : (group + 1) * size], cache, lstat)

    def work(group: int) -> list[int]:
        os.fchdir(root_fd)
        return places_in(group, os.lstat)

    remaining = dict.fromkeys(groups)
    places: list[int] = []
    if len(cache.parts) * PATHS_PER_PART >= _MIN_ENTRIES_TO_FORK:
        from ..util.process_pool import helper_count, run_jobs_in_children

        for group, answer in run_jobs_in_children(helper_count(), len(groups), work):
            places += answer
            del remaining[group]
            tick((len(groups) - len(remaining)) * size * PATHS_PER_PART)
    lstat = partial(os.lstat, dir_fd=root_fd)
    for count, group in enumerate(remaining, len(groups) - len(remaining) + 1):
        places += places_in(group, lstat)
        tick(count * size * PATHS_PER_PART)
    return list(read_entries_at(cache, sorted(places)))


_EntryState = tuple[str, os.stat_result | None, bool]
"""A path ("" is the root), its stat now, and whether it was a folder."""


class Rescan:
    """Classifies changes of known files and folders; passes new ones to the walk.

    `removed` are paths that are no longer files of the brain, `lost` those that are no longer
    folders.
    """

    def __init__(self) -> None:
        self.removed: list[str] = []
        self.lost: list[str] = []

    def rescan_all(
        self, root_fd: int, cache: StatCache, walk: FolderWalk, tick: CountCallback
    ) -> None:
        """Compare all entries of the cache, and classify changed ones. Raises as `FolderWalk`."""
        rows: list[_EntryState] = []
        for path, stored in find_differing_entries(cache, root_fd, tick):
            try:
                rows.append(_lstat_entry(root_fd, path, stored))
            except InvalidInput as error:  # it stays in the cache as it was
                walk.skipped[path] = error
        linked = {path for path, st, was_folder in rows if was_folder and _is_link(st)}
        hidden = dict(cache.entries_below(linked)) if linked else {}
        for path, stored in hidden.items():
            self._drop_entry(path, stat.S_ISDIR(file_fingerprint.fingerprint_mode(stored)), walk)
        for row in rows:
            if row[0] not in hidden:
                self._classify_entry(row, cache, walk)

    def _classify_entry(self, row: _EntryState, cache: StatCache, walk: FolderWalk) -> None:
        path, st, was_folder = row
        if st is None:
            self._drop_entry(path, was_folder, walk)
        elif was_folder and stat.S_ISDIR(st.st_mode):
            walk.walk_folder(path, frozenset(map(_base_name, cache.children(path))))
        elif was_folder or stat.S_ISDIR(st.st_mode):
            self._drop_entry(path, was_folder, walk)
            walk.visit_path(path, st)
        elif not walk.add_file_if_included(path, st):
            self._drop_entry(path, False, walk)

    def _drop_entry(self, path: str, was_folder: bool, walk: FolderWalk) -> None:
        if was_folder:
            self.lost.append(path)
        else:
            self.removed.append(path)
            walk.files -= 1


def _lstat_entry(root_fd: int, path: str, stored: bytes) -> _EntryState:
    was_folder = stat.S_ISDIR(file_fingerprint.fingerprint_mode(stored))
    st: os.stat_result | None = None
    try:
        st = os.lstat(path, dir_fd=root_fd)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise unreadable_error(path, error) from error
    return ("" if path == ROOT_FOLDER_PATH else path), st, was_folder


def _is_link(st: os.stat_result | None) -> bool:
    return st is not None and stat.S_ISLNK(st.st_mode)


def _base_name(path: bytes) -> str:
    return path[path.rfind(b"/") + 1 :].decode()
