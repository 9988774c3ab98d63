"""Comparing the whole stat cache; a large one in two processes.

lstat under one interpreter lock is slow, so a child gets half of the parts. It only
calls lstat, writes what differs to a pipe and leaves by `os._exit`. If anything goes
wrong with it, its half is compared here.
"""

from __future__ import annotations

import os
import signal
import sys
from array import array
from contextlib import suppress

from .compare import Tick, compare, entries_at, lstat_below
from .statcache import PART, StatCache

_ENTRIES = 20_000
"""Below this the fork costs more than it saves."""
_DONE = b"done"


def differing(cache: StatCache, root_fd: int, tick: Tick) -> list[tuple[str, bytes]]:
    """Return path and known fingerprint of every entry that is gone or differs.

    `tick` is told the number of entries compared so far.
    """
    if two_are_better(cache):
        places = compare_in_halves(cache, root_fd, tick)
    else:
        places = compare(range(len(cache.parts)), cache, lstat_below(root_fd), tick)
    return list(entries_at(cache, places))


def two_are_better(cache: StatCache) -> bool:
    """Tell whether two processes are faster, and safe: forking is, with a single thread."""
    if len(cache.parts) * PART < _ENTRIES or not sys.platform.startswith("linux"):
        return False
    try:
        return len(os.sched_getaffinity(0)) > 1 and len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def compare_in_halves(cache: StatCache, root_fd: int, tick: Tick) -> list[int]:
    """As `compare` for all parts of `cache`."""
    middle = len(cache.parts) // 2
    mine, others = range(middle), range(middle, len(cache.parts))
    try:
        child, pipe = _start(cache, root_fd, others)
    except OSError:
        return compare(range(len(cache.parts)), cache, lstat_below(root_fd), tick)
    try:
        places = compare(mine, cache, lstat_below(root_fd), lambda done: tick(2 * done))
        with os.fdopen(pipe, "rb", closefd=False) as file:
            answer = file.read()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.close(pipe)
        _reap(child)
    theirs = _unpack(answer)
    if theirs is None:
        theirs = compare(
            others, cache, lstat_below(root_fd), lambda done: tick(middle * PART + done)
        )
    return places + theirs


def _start(cache: StatCache, root_fd: int, numbers: range) -> tuple[int, int]:
    """Fork; return the child's id and the end of the pipe to read from."""
    read_end, write_end = os.pipe()
    try:
        child = os.fork()
    except OSError:
        os.close(read_end)
        os.close(write_end)
        raise
    if child == 0:
        _work(cache, root_fd, numbers, write_end)
    os.close(write_end)
    return child, read_end


def _work(cache: StatCache, root_fd: int, numbers: range, pipe: int) -> None:
    """Be the child: compare, answer, leave without running anybody's clean-up."""
    try:
        os.fchdir(root_fd)
        places = array("Q", compare(numbers, cache, os.lstat, lambda done: None))
        with os.fdopen(pipe, "wb") as file:
            file.write(places.tobytes() + _DONE)
    finally:
        os._exit(0)


def _reap(child: int) -> None:
    with suppress(ChildProcessError):  # the program may have asked not to hear of children
        os.waitpid(child, 0)


def _unpack(answer: bytes) -> list[int] | None:
    """Return the places in a child's answer, or None if it did not come to its end."""
    if not answer.endswith(_DONE) or (len(answer) - len(_DONE)) % 8:
        return None
    places = array("Q")
    places.frombytes(answer[: -len(_DONE)])
    return places.tolist()
