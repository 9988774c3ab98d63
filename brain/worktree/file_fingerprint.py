"""Fingerprints of files: packed stat results, which prove a file unchanged under conditions.

A fingerprint is mtime, ctime, size, inode number and mode in 36 bytes. Equal fingerprints prove
equal content only if the file's times are clearly before the moment of the first one: a later
write within the same tick of the clock does not change the times ("racy git",
Documentation/technical/racy-git.txt).
"""

from __future__ import annotations

import errno
import os
import stat
import struct
import time
from operator import attrgetter
from typing import NamedTuple

from ..objects.tree_entry import EXECUTABLE, FILE, LINK

_FINGERPRINT_FORMAT = struct.Struct("<qqQQI")
FINGERPRINT_BYTES = _FINGERPRINT_FORMAT.size
"""Bytes in a fingerprint."""

stat_fields = attrgetter("st_mtime_ns", "st_ctime_ns", "st_size", "st_ino", "st_mode")
pack_fingerprint = _FINGERPRINT_FORMAT.pack
"""Packs the `stat_fields` of a stat; raises `struct.error` for times outside 64 bits."""

ABSENT_ERRNOS = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG))
"""Errors for a path without a file; a name that is too long cannot exist."""

_MIN_TIME_NS, _MAX_TIME_NS = -(1 << 63), (1 << 63) - 1
_SECOND_NS = 1_000_000_000
_FINE_TICK_NS = _SECOND_NS // 20
_COARSE_TICK_NS = 2 * _SECOND_NS


class ClockReading(NamedTuple):
    """A point in time by both clocks of this machine, in nanoseconds."""

    wall_ns: int
    monotonic_ns: int


def read_clocks() -> ClockReading:
    """Return the present moment."""
    return ClockReading(time.time_ns(), time.monotonic_ns())


def file_system_time(started: ClockReading, file_time: int) -> int:
    """Return the moment `started` by the clock of the file system, which now shows `file_time`.

    The longer of two spans is subtracted: the wall clock may have been set back, the monotonic
    one stops while the machine sleeps. An earlier moment only causes files to be read again.
    """
    at = read_clocks()
    return file_time - max(at.wall_ns - started.wall_ns, at.monotonic_ns - started.monotonic_ns)


def fingerprint_of(st: os.stat_result) -> bytes:
    """Return the fingerprint of a file; times outside 64 bits are cut to the nearest."""
    try:
        return pack_fingerprint(*stat_fields(st))
    except struct.error:
        mtime, ctime, *others = stat_fields(st)
        return pack_fingerprint(_clamp_time(mtime), _clamp_time(ctime), *others)


def _clamp_time(time_ns: int) -> int:
    return min(max(time_ns, _MIN_TIME_NS), _MAX_TIME_NS)


def unmatchable_fingerprint(stored: bytes) -> bytes:
    """Return a fingerprint of the same mode that no file has, so that the file is read again."""
    return pack_fingerprint(0, 0, 0, 0, fingerprint_mode(stored))


def fingerprint_mode(stored: bytes) -> int:
    """Return the mode within a fingerprint."""
    return int.from_bytes(stored[-4:], "little")


def is_racy(stored: bytes, moment: int) -> bool:
    """Tell whether a file could have changed after `moment` without a change of its times.

    Times without nanoseconds come from a file system with a resolution of one or two seconds.
    """
    mtime, ctime, *_ = _FINGERPRINT_FORMAT.unpack(stored)
    return _is_after(mtime, moment) or _is_after(ctime, moment)


def _is_after(then: int, moment: int) -> bool:
    return bool(then > moment - (_FINE_TICK_NS if then % _SECOND_NS else _COARSE_TICK_NS))


def lstat_or_none(path: str | os.PathLike[str]) -> os.stat_result | None:
    """Return the stat of a file or link, None if it does not exist."""
    try:
        return os.lstat(path)
    except OSError as error:
        if error.errno in ABSENT_ERRNOS:
            return None
        raise


def entry_kind(mode: int) -> int:
    """Return FILE, EXECUTABLE or LINK for a mode."""
    if stat.S_ISLNK(mode):
        return LINK
    return EXECUTABLE if mode & stat.S_IXUSR else FILE
