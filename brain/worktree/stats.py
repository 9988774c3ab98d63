"""What the file system says of a file, packed, and how far that can be trusted.

A fingerprint is mtime, ctime, size, inode number and mode in 36 bytes. Equal
fingerprints prove equal content only if the file's times lie clearly before the
moment at which the first one was taken: a later write within the same tick of the
clock leaves the times as they are ("racy git", Documentation/technical/racy-git.txt).
"""

from __future__ import annotations

import errno
import os
import stat
import struct
import time
from operator import attrgetter
from typing import NamedTuple

from ..objects.entry import EXECUTABLE, FILE, LINK

_SHAPE = struct.Struct("<qqQQI")
SIZE = _SHAPE.size
"""Bytes in a fingerprint."""

fields = attrgetter("st_mtime_ns", "st_ctime_ns", "st_size", "st_ino", "st_mode")
pack = _SHAPE.pack
"""Packs `fields` of a stat; raises `struct.error` for times outside 64 bits."""

NOT_THERE = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG))
"""What the system says of a path at which nothing is, the last of a name that none can have."""

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_SECOND = 1_000_000_000
_FINE_TICK = _SECOND // 20
_COARSE_TICK = 2 * _SECOND


class Moment(NamedTuple):
    """A point in time by both clocks of this machine, in nanoseconds."""

    wall: int
    steady: int


def now() -> Moment:
    """Return the present moment."""
    return Moment(time.time_ns(), time.monotonic_ns())


def horizon(started: Moment, file_time: int) -> int:
    """Return the moment `started` by the file system's clock, which now says `file_time`.

    The longer of the two spans is taken: one clock may have been set back, the other
    stops while the machine sleeps, and an earlier horizon only costs reading again.
    """
    at = now()
    return file_time - max(at.wall - started.wall, at.steady - started.steady)


def fingerprint(st: os.stat_result) -> bytes:
    """Return the fingerprint of a file; times outside 64 bits are cut to the nearest."""
    try:
        return pack(*fields(st))
    except struct.error:
        mtime, ctime, *others = fields(st)
        return pack(_within(mtime), _within(ctime), *others)


def _within(time_ns: int) -> int:
    return min(max(time_ns, _LEAST), _MOST)


def unproven(known: bytes) -> bytes:
    """Return what stands for a file of this type that has to be read again: never equal."""
    return pack(0, 0, 0, 0, mode_of(known))


def mode_of(known: bytes) -> int:
    """Return the mode within a fingerprint."""
    return int.from_bytes(known[-4:], "little")


def is_recent(known: bytes, moment: int) -> bool:
    """Tell whether a file could have changed after `moment` without its times showing it.

    Times without nanoseconds come from a file system that keeps whole seconds, or two.
    """
    mtime, ctime, *_ = _SHAPE.unpack(known)
    return _is_late(mtime, moment) or _is_late(ctime, moment)


def _is_late(then: int, moment: int) -> bool:
    return bool(then > moment - (_FINE_TICK if then % _SECOND else _COARSE_TICK))


def at(path: str | os.PathLike[str]) -> os.stat_result | None:
    """Return the stat of a file or link, None where there is none, or can be none."""
    try:
        return os.lstat(path)
    except OSError as error:
        if error.errno in NOT_THERE:
            return None
        raise


def kind_of(mode: int) -> int:
    """Return FILE, EXECUTABLE or LINK: all that a brain keeps of a mode."""
    if stat.S_ISLNK(mode):
        return LINK
    return EXECUTABLE if mode & stat.S_IXUSR else FILE
