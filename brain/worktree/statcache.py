"""The stat cache: what every file looked like when its content was last known.

It holds, for each file and folder of a brain, the path and the fingerprint; it belongs
to one bundle and one set of ignore rules. A file whose fingerprint is still the same
has the content that the bundle gives it. Losing the cache costs time and nothing else,
so whatever is wrong with the file makes it absent.

The file is MessagePack `[version, rules, bundle, files, [[paths, fingerprints], ...]]`
followed by the BLAKE3 digest of all that. Paths are joined by NUL and sorted by
(folder, name); each part holds about `PART` of them. The root's own path is ".".
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import msgpack
from blake3 import blake3

from . import stats

ROOT = "."
"""The path under which the root folder itself is kept."""
PART = 512
"""Paths in one part, about."""

_VERSION = 1
_DIGEST = 32
_MAX_BYTES = 1 << 30
"""A longer file is no index of ours: a million files take about 150 MB."""


class Part(NamedTuple):
    """A run of paths and, in the same order, their fingerprints."""

    paths: bytes
    stats: bytes

    def first(self) -> tuple[bytes, bytes]:
        """Return the sort key of the first path."""
        end = self.paths.find(b"\0")
        return sort_key(self.paths if end < 0 else self.paths[:end])

    def entries(self) -> Iterator[tuple[bytes, bytes]]:
        """Return every path with its fingerprint."""
        size, stats_ = stats.SIZE, self.stats
        for number, path in enumerate(self.paths.split(b"\0")):
            yield path, stats_[number * size : (number + 1) * size]


class StatCache:
    """The known files and folders of a brain, for one bundle and one set of rules.

    `rules` is the fingerprint of the ignore rules, `bundle` an id of 32 bytes, `files`
    the number of files (folders are not counted).
    """

    def __init__(self, rules: bytes, bundle: bytes, files: int, parts: list[Part]) -> None:
        self.rules = rules
        self.bundle = bundle
        self.files = files
        self.parts = parts
        self._last: tuple[int, dict[bytes, list[bytes]]] = (-1, {})

    @property
    def entries(self) -> int:
        """Files and folders, together."""
        return sum(len(part.stats) for part in self.parts) // stats.SIZE

    @cached_property
    def _firsts(self) -> list[tuple[bytes, bytes]]:
        return [part.first() for part in self.parts]

    def _part_of(self, path: bytes) -> int:
        return max(bisect_right(self._firsts, sort_key(path)) - 1, 0)

    def children(self, folder: str) -> list[bytes]:
        """Return the paths of the known files and folders directly in `folder` ("" is the root)."""
        above = folder.encode()
        start = max(bisect_right(self._firsts, (above, b"")) - 1, 0)
        found: list[bytes] = []
        for number in range(start, len(self.parts)):
            if self._firsts[number][0] > above:
                break
            found += self._grouped(number).get(above, ())
        return found

    def _grouped(self, number: int) -> dict[bytes, list[bytes]]:
        """Return the paths of one part by folder; the last part asked for is remembered."""
        if self._last[0] != number:
            groups: dict[bytes, list[bytes]] = {}
            for path in self.parts[number].paths.split(b"\0"):
                groups.setdefault(path.rpartition(b"/")[0], []).append(path)
            self._last = (number, groups)
        return self._last[1]

    def below(self, folders: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Return path and fingerprint of everything known at any depth below `folders`."""
        above = {folder.encode() for folder in folders}
        for part in self.parts:
            for path, known in part.entries():
                if any(path[:end] in above for end in _slashes(path)):
                    yield path.decode(), known

    def changed(self, bundle: bytes, files: int, changes: Mapping[str, bytes | None]) -> StatCache:
        """Return the cache for `bundle`, with fingerprints set, and paths dropped where None."""
        touched: dict[int, dict[bytes, bytes | None]] = {}
        for path, known in changes.items():
            raw = path.encode()
            touched.setdefault(self._part_of(raw) if self.parts else 0, {})[raw] = known
        parts: list[Part] = []
        for number, part in enumerate(self.parts or [Part(b"", b"")]):
            changes_here = touched.get(number)
            parts.extend(_rebuilt(part, changes_here) if changes_here else [part])
        return StatCache(self.rules, bundle, files, [part for part in parts if part.stats])


def _slashes(path: bytes) -> Iterator[int]:
    at = path.find(b"/")
    while at >= 0:
        yield at
        at = path.find(b"/", at + 1)


def sort_key(path: bytes) -> tuple[bytes, bytes]:
    """Return folder and name: the children of one folder stand together."""
    folder, _, name = path.rpartition(b"/")
    return folder, name


def _rebuilt(part: Part, changes: Mapping[bytes, bytes | None]) -> list[Part]:
    after = {**dict(part.entries()), **changes} if part.stats else changes
    known = {path: fingerprint for path, fingerprint in after.items() if fingerprint is not None}
    paths = sorted(known, key=_ordered)
    step = PART if len(paths) > 2 * PART else len(paths)
    runs = [paths[cut : cut + step] for cut in range(0, len(paths), step or 1)]
    return [Part(b"\0".join(run), b"".join([known[path] for path in run])) for run in runs]


def _ordered(path: bytes) -> bytes:
    """Return what sorts as `sort_key` does, in half of the memory."""
    folder, _, name = path.rpartition(b"/")
    return folder + b"\0" + name


def encode(cache: StatCache) -> bytes:
    """Return the file's bytes."""
    parts = [[part.paths, part.stats] for part in cache.parts]
    body = msgpack.packb([_VERSION, cache.rules, cache.bundle, cache.files, parts])
    return bytes(body) + blake3(body).digest()


def decode(data: bytes) -> StatCache | None:
    """Return the cache that `data` holds, or None if anything about it is wrong."""
    body = memoryview(data)[:-_DIGEST]
    if blake3(body).digest() != data[-_DIGEST:]:
        return None
    try:
        version, rules, bundle, files, rows = msgpack.unpackb(body)
        parts = [Part(*row) for row in rows]
    except (ValueError, TypeError):
        return None
    return StatCache(rules, bundle, files, parts) if version == _VERSION else None


def load(file: str | None, rules: bytes) -> StatCache | None:
    """Return the cache in `file`, or None.

    None stands for a file that is missing, short, damaged, of another version, not
    readable, or made under other rules.
    """
    cache = decode(_read(file)) if file is not None else None
    return cache if cache is not None and cache.rules == rules else None


def _read(file: str) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        fd = os.open(file, flags)
        try:
            return os.read(fd, min(os.fstat(fd).st_size, _MAX_BYTES))
        finally:
            os.close(fd)
    except OSError:
        return b""
