"""The stat cache: the fingerprint of every file when its content was last known.

It holds path and fingerprint of each file and folder of a brain, for one bundle and one set of
ignore rules. A file with the same fingerprint has its content in the bundle. Losing the cache
costs only time, so a damaged file counts as missing.

The file is MessagePack `[version, rules, bundle, files, [[paths, fingerprints], ...]]` followed by
its BLAKE3 digest. Paths are joined by NUL and sorted by (folder, name); each part holds about
PATHS_PER_PART of them. The path of the root is ".".
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import msgpack
from blake3 import blake3

from . import handles

ROOT_FOLDER_PATH = "."
"""The path of the root folder in the cache."""
PATHS_PER_PART = 512
"""Approximate number of paths in one part."""

_FORMAT_VERSION = 1
_DIGEST_BYTES = 32
_MAX_FILE_BYTES = 1 << 30
"""Bytes that are read; a million files take about 150 MB."""


class StatCachePart(NamedTuple):
    """A run of paths and, in the same order, their fingerprints."""

    paths: bytes
    fingerprints: bytes

    def first_sort_key(self) -> tuple[bytes, bytes]:
        """Return the sort key of the first path."""
        end = self.paths.find(b"\0")
        return folder_sort_key(self.paths if end < 0 else self.paths[:end])

    def entries(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield every path with its fingerprint."""
        size = handles.FINGERPRINT_BYTES
        for number, path in enumerate(self.paths.split(b"\0")):
            yield path, self.fingerprints[number * size : (number + 1) * size]


class StatCache:
    """The known files and folders of a brain, for one bundle and one set of rules.

    `rules` is the fingerprint of the ignore rules, `bundle` an id of 32 bytes, `files`
    the number of files (folders are not counted).
    """

    def __init__(self, rules: bytes, bundle: bytes, files: int, parts: list[StatCachePart]) -> None:
        self.rules = rules
        self.bundle = bundle
        self.files = files
        self.parts = parts
        self._last_group: tuple[int, dict[bytes, list[bytes]]] = (-1, {})

    @property
    def entry_count(self) -> int:
        """The number of files and folders."""
        size = sum(len(part.fingerprints) for part in self.parts)
        return size // handles.FINGERPRINT_BYTES

    @cached_property
    def _first_sort_keys(self) -> list[tuple[bytes, bytes]]:
        return [part.first_sort_key() for part in self.parts]

    def _find_part(self, path: bytes) -> int:
        return max(bisect_right(self._first_sort_keys, folder_sort_key(path)) - 1, 0)

    def children(self, folder: str) -> list[bytes]:
        """Return the paths of the known files and folders directly in `folder` ("" is the root)."""
        above = folder.encode()
        start = max(bisect_right(self._first_sort_keys, (above, b"")) - 1, 0)
        found: list[bytes] = []
        for number in range(start, len(self.parts)):
            if self._first_sort_keys[number][0] > above:
                break
            found += self._group_by_folder(number).get(above, ())
        return found

    def _group_by_folder(self, number: int) -> dict[bytes, list[bytes]]:
        """Return the paths of one part by folder; caches the last part."""
        if self._last_group[0] != number:
            groups: dict[bytes, list[bytes]] = {}
            for path in self.parts[number].paths.split(b"\0"):
                groups.setdefault(path.rpartition(b"/")[0], []).append(path)
            self._last_group = (number, groups)
        return self._last_group[1]

    def entries_below(self, folders: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Yield path and fingerprint of all entries at any depth below `folders`."""
        above = {folder.encode() for folder in folders}
        for part in self.parts:
            for path, known in part.entries():
                if any(path[:end] in above for end in _slash_positions(path)):
                    yield path.decode(), known

    def with_changes(
        self, bundle: bytes, files: int, changes: Mapping[str, bytes | None]
    ) -> StatCache:
        """Return the cache for `bundle` with changed fingerprints; None removes a path."""
        touched: dict[int, dict[bytes, bytes | None]] = {}
        for path, known in changes.items():
            raw = path.encode()
            touched.setdefault(self._find_part(raw) if self.parts else 0, {})[raw] = known
        parts: list[StatCachePart] = []
        for number, part in enumerate(self.parts or [StatCachePart(b"", b"")]):
            changes_here = touched.get(number)
            parts.extend(_rebuild_part(part, changes_here) if changes_here else [part])
        return StatCache(self.rules, bundle, files, [part for part in parts if part.fingerprints])


def _slash_positions(path: bytes) -> Iterator[int]:
    at = path.find(b"/")
    while at >= 0:
        yield at
        at = path.find(b"/", at + 1)


def folder_sort_key(path: bytes) -> tuple[bytes, bytes]:
    """Return folder and name, so that the children of one folder are adjacent."""
    folder, _, name = path.rpartition(b"/")
    return folder, name


def _rebuild_part(
    part: StatCachePart, changes: Mapping[bytes, bytes | None]
) -> list[StatCachePart]:
    after = {**dict(part.entries()), **changes} if part.fingerprints else changes
    known = {path: fingerprint for path, fingerprint in after.items() if fingerprint is not None}
    paths = sorted(known, key=_compact_sort_key)
    step = PATHS_PER_PART if len(paths) > 2 * PATHS_PER_PART else len(paths)
    runs = [paths[cut : cut + step] for cut in range(0, len(paths), step or 1)]
    return [StatCachePart(b"\0".join(run), b"".join([known[path] for path in run])) for run in runs]


def _compact_sort_key(path: bytes) -> bytes:
    """Return a key with the order of `folder_sort_key`, in half of the memory."""
    folder, _, name = path.rpartition(b"/")
    return folder + b"\0" + name


def encode_stat_cache(cache: StatCache) -> bytes:
    """Return the file's bytes."""
    parts = [[part.paths, part.fingerprints] for part in cache.parts]
    body = msgpack.packb([_FORMAT_VERSION, cache.rules, cache.bundle, cache.files, parts])
    return bytes(body) + blake3(body).digest()


def decode_stat_cache(data: bytes) -> StatCache | None:
    """Return the cache in `data`, or None if it is damaged."""
    body = memoryview(data)[:-_DIGEST_BYTES]
    if blake3(body).digest() != data[-_DIGEST_BYTES:]:
        return None
    try:
        version, rules, bundle, files, rows = msgpack.unpackb(body)
        parts = [StatCachePart(*row) for row in rows]
    except (ValueError, TypeError):
        return None
    return StatCache(rules, bundle, files, parts) if version == _FORMAT_VERSION else None


def load_stat_cache(file: str | None, rules: bytes) -> StatCache | None:
    """Return the cache in `file`.

    None if the file is missing, damaged, of another version, unreadable, or has other rules.
    """
    cache = decode_stat_cache(_read_cache_file(file)) if file is not None else None
    return cache if cache is not None and cache.rules == rules else None


def _read_cache_file(file: str) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        fd = os.open(file, flags)
        try:
            return os.read(fd, min(os.fstat(fd).st_size, _MAX_FILE_BYTES))
        finally:
            os.close(fd)
    except OSError:
        return b""
