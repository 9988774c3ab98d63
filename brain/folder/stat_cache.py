"""The stat cache: what every file and folder looked like when its content was last known.

It belongs to one bundle and one set of ignore rules; a file with the same fingerprint has its
content in that bundle. Losing the cache costs only time, so a damaged file counts as missing.

The file is MessagePack `[version, rules, bundle, files, paths, fingerprints]`, then its BLAKE3
digest. Paths are joined by NUL and sorted by (folder, name); the path of the root is ".".
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import starmap

import msgpack
from blake3 import blake3

from . import handles
from .handles import FINGERPRINT_BYTES

ROOT_FOLDER_PATH = "."
"""The path of the root folder in the cache."""

_FORMAT_VERSION = 2
_START = bytes((0x96, _FORMAT_VERSION))
"""The head of an array of six in MessagePack, and the first of them."""
_BYTES_OF_LENGTH = b"\xc6"
"""The head of bytes in MessagePack; their length follows in four bytes."""
_DIGEST_BYTES = 32
_MAX_FILE_BYTES = 1 << 30
"""Bytes that are read; a million files take about 150 MB."""
_MIN_ENTRIES_TO_FORK = 20_000
"""For fewer entries, forking costs more than it saves."""
_ENTRIES_PER_JOB = 4096
_ABSENT_FINGERPRINT = bytes(FINGERPRINT_BYTES)


class StatCache:
    """The known files and folders of a brain, for one bundle and one set of rules.

    `rules` is the fingerprint of the ignore rules, `bundle` an id of 32 bytes, `files` the number
    of files (folders are not counted).
    """

    def __init__(
        self,
        rules: bytes,
        bundle: bytes = b"",
        files: int = 0,
        paths: Collection[bytes] = (),
        fingerprints: bytes = b"",
    ) -> None:
        self.rules = rules
        self.bundle = bundle
        self.files = files
        self.paths = list(paths)
        self.fingerprints = fingerprints

    @classmethod
    def load(cls, file: str | None, rules: bytes) -> StatCache | None:
        """Return the cache in `file`.

        None if the file is missing, damaged, of another version, unreadable, or has other rules.
        """
        if file is None:
            return None
        try:
            fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
            with open(fd, "rb", buffering=0) as raw:
                cache = cls.decode(raw.read(min(os.fstat(fd).st_size, _MAX_FILE_BYTES)))
        except OSError:
            return None
        return cache if cache is not None and cache.rules == rules else None

    @classmethod
    def decode(cls, data: bytes) -> StatCache | None:
        """Return the cache in `data`, or None if it is damaged."""
        body = memoryview(data)[:-_DIGEST_BYTES]
        if blake3(body).digest() != data[-_DIGEST_BYTES:]:
            return None
        try:
            version, rules, bundle, files, paths, fingerprints = msgpack.unpackb(body)
            if version == _FORMAT_VERSION:
                known = paths.split(b"\0") if paths else []
                return cls(rules, bundle, files, known, fingerprints)
        except (ValueError, TypeError, AttributeError):
            pass
        return None

    def encode(self) -> Iterator[bytes]:
        """Yield the pieces of the file."""
        digest = blake3()
        pieces = [_START, *map(msgpack.packb, (self.rules, self.bundle, self.files))]
        for data in (b"\0".join(self.paths), self.fingerprints):  # not copied: they may be large
            pieces += (_BYTES_OF_LENGTH + len(data).to_bytes(4, "big"), data)
        for piece in pieces:
            digest.update(piece)
            yield piece
        yield digest.digest()

    def entries(self) -> Iterator[tuple[str, bytes]]:
        """Yield every path with its fingerprint."""
        for number, path in enumerate(self.paths):
            yield path.decode(), self._fingerprint(number)

    def _fingerprint(self, number: int) -> bytes:
        return self.fingerprints[number * FINGERPRINT_BYTES : (number + 1) * FINGERPRINT_BYTES]

    def find_differing(
        self, root_fd: int, tick: Callable[[int], None]
    ) -> Iterator[tuple[str, bytes]]:
        """Yield path and known fingerprint of every changed or missing entry.

        `tick` gets the number of compared entries.
        """
        lstat: Callable[[bytes], os.stat_result] = partial(os.lstat, dir_fd=root_fd)

        @contextmanager
        def child() -> Iterator[None]:
            nonlocal lstat
            os.fchdir(root_fd)
            lstat = os.lstat  # without `dir_fd` it takes an eighth less time
            yield

        def compare(job: int) -> list[int]:
            first = job * _ENTRIES_PER_JOB
            paths = self.paths[first : first + _ENTRIES_PER_JOB]
            start, size = first * FINGERPRINT_BYTES, FINGERPRINT_BYTES
            known = self.fingerprints[start : start + len(paths) * size]
            now = _fingerprint_paths(paths, lstat)
            if now == known:  # nearly always: one comparison of all bytes
                return []
            places = range(0, len(now), size)
            return [
                first + at // size for at in places if now[at : at + size] != known[at : at + size]
            ]

        jobs = -(-len(self.paths) // _ENTRIES_PER_JOB)
        with ExitStack() as stack:
            answers: Iterator[list[int]] = map(compare, range(jobs))
            if len(self.paths) >= _MIN_ENTRIES_TO_FORK:
                # lstat under one interpreter lock is slow: children take their part.
                from ..util.process_pool import share_jobs

                answers = stack.enter_context(share_jobs(jobs, compare, child))
            for done, answer in enumerate(answers, 1):
                for number in answer:
                    yield self.paths[number].decode(), self._fingerprint(number)
                tick(min(done * _ENTRIES_PER_JOB, len(self.paths)))

    def children(self, folder: str) -> Iterator[str]:
        """Yield the names of the known files and folders directly in `folder` ("" is the root)."""
        above = folder.encode()
        first = bisect_left(self.paths, above + b"\0", key=_sort_key)
        for path in self.paths[first:]:
            parent, _, name = path.rpartition(b"/")
            if parent != above:
                return
            yield name.decode()

    def entries_below(self, folders: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Yield path and fingerprint of all entries at any depth below `folders`."""
        tops = tuple(f"{folder}/" for folder in folders)
        return (entry for entry in self.entries() if entry[0].startswith(tops))

    def with_changes(
        self, bundle: bytes, files: int, changes: Mapping[str, bytes | None]
    ) -> StatCache:
        """Return the cache for `bundle` with changed fingerprints; None removes a path."""
        paths: list[bytes] = []
        fingerprints: list[bytes] = []
        done, size = 0, FINGERPRINT_BYTES
        for raw in sorted(map(str.encode, changes), key=_sort_key):
            if self.paths:
                at = bisect_left(self.paths, _sort_key(raw), lo=done, key=_sort_key)
                paths += self.paths[done:at]
                fingerprints.append(self.fingerprints[done * size : at * size])
                done = at + (self.paths[at : at + 1] == [raw])
            known = changes[raw.decode()]
            if known is not None:
                paths.append(raw)
                fingerprints.append(known)
        paths += self.paths[done:]
        fingerprints.append(self.fingerprints[done * size :])
        return StatCache(self.rules, bundle, files, paths, b"".join(fingerprints))


def _sort_key(path: bytes) -> bytes:
    """Return a key that makes the children of one folder adjacent."""
    folder, _, name = path.rpartition(b"/")
    return folder + b"\0" + name


def _fingerprint_paths(paths: list[bytes], lstat: Callable[[bytes], os.stat_result]) -> bytes:
    try:
        rows = map(handles.stat_fields, map(lstat, paths))
        return b"".join(starmap(handles.pack_fingerprint, rows))
    except (OSError, struct.error):
        if len(paths) > 1:
            return b"".join([_fingerprint_paths([path], lstat) for path in paths])
    try:
        return handles.fingerprint_of(lstat(paths[0]))
    except OSError:
        return _ABSENT_FINGERPRINT
