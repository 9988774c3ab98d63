"""Comparing the whole stat cache; a large one in two processes.

lstat under one interpreter lock is slow, so a child shares the work. Both take groups of
parts from a pipe until it is empty. The child only calls lstat, writes what differs to
another pipe and leaves by `os._exit`. Groups it does not answer for, whatever went
wrong with it, are compared again here.
"""

from __future__ import annotations

import os
import signal
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from .compare import Lstat, compare, entries_at, lstat_below
from .statcache import PART, StatCache

Tick = Callable[[int], None]
Work = tuple[list[int], list[int]]
"""Numbers of the groups that were compared, and places of what differs in them."""

_ENTRIES = 20_000
"""Below this the fork costs more than it saves."""
_MOST_GROUPS = 1024
"""Their numbers, two bytes each, must fit into a pipe at once."""
_FEWEST_PARTS = 4
_DONE = b"done"


def differing(cache: StatCache, root_fd: int, tick: Tick) -> list[tuple[str, bytes]]:
    """Return path and known fingerprint of every entry that is gone or differs.

    `tick` is told the number of entries compared so far, about.
    """
    count = len(range(0, len(cache.parts), _group_size(cache)))
    if two_are_better(cache):
        done, places = _share(cache, root_fd, count, tick)
    else:
        done, places = [], []
    left = sorted(set(range(count)).difference(done))
    places += _work(left, cache, lstat_below(root_fd), tick)[1]
    return list(entries_at(cache, sorted(places)))


def two_are_better(cache: StatCache) -> bool:
    """Tell whether two processes are faster, and safe: forking is, with a single thread."""
    if len(cache.parts) * PART < _ENTRIES or not sys.platform.startswith("linux"):
        return False
    try:
        return len(os.sched_getaffinity(0)) > 1 and len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def _group_size(cache: StatCache) -> int:
    return max(_FEWEST_PARTS, -(-len(cache.parts) // _MOST_GROUPS))


def _work(groups: Iterable[int], cache: StatCache, lstat: Lstat, tick: Tick) -> Work:
    size, count = _group_size(cache), len(cache.parts)
    done: list[int] = []
    places: list[int] = []
    for group in groups:
        places += compare(range(group * size, min((group + 1) * size, count)), cache, lstat)
        done.append(group)
        tick((group + 1) * size * PART)
    return done, places


def _share(cache: StatCache, root_fd: int, count: int, tick: Tick) -> Work:
    """Compare together with a child; what is missing from the outcome was not done."""
    queue = _filled_pipe(range(count))
    try:
        answer, child = _start(cache, root_fd, queue)
        try:
            done, places = _work(_taken(queue), cache, lstat_below(root_fd), tick)
            theirs = _unpack(_read_all(answer))
        except BaseException:
            os.kill(child, signal.SIGKILL)
            raise
        finally:
            os.close(answer)
            with suppress(ChildProcessError):  # the program may not want to hear of children
                os.waitpid(child, 0)
    except OSError:
        return [], []
    finally:
        os.close(queue)
    return done + theirs[0], places + theirs[1]


def _filled_pipe(numbers: range) -> int:
    """Return the end of a pipe from which each of `numbers` can be read once."""
    read_end, write_end = os.pipe()
    os.write(write_end, array("H", numbers).tobytes())
    os.close(write_end)
    return read_end


def _taken(queue: int) -> Iterator[int]:
    while number := os.read(queue, 2):
        yield int.from_bytes(number, sys.byteorder)


def _start(cache: StatCache, root_fd: int, queue: int) -> tuple[int, int]:
    """Fork; return the end of the pipe with the child's answer, and its process id."""
    read_end, write_end = os.pipe()
    try:
        child = os.fork()
        if child == 0:
            _be_child(cache, root_fd, queue, write_end)
    except OSError:
        os.close(read_end)
        raise
    finally:
        os.close(write_end)
    return read_end, child


def _be_child(cache: StatCache, root_fd: int, queue: int, answer: int) -> None:
    """Compare, answer, and leave without running anybody's clean-up."""
    try:
        os.fchdir(root_fd)
        done, places = _work(_taken(queue), cache, os.lstat, lambda entries: None)
        with os.fdopen(answer, "wb") as file:
            file.write(array("Q", [len(done), *done, *places]).tobytes() + _DONE)
    finally:
        os._exit(0)


def _read_all(fd: int) -> bytes:
    with os.fdopen(fd, "rb", closefd=False) as file:
        return file.read()


def _unpack(answer: bytes) -> Work:
    """Return what a child did; nothing, if it did not come to its end."""
    numbers = array("Q")
    if not answer.endswith(_DONE) or len(answer) % numbers.itemsize != len(_DONE):
        return [], []
    numbers.frombytes(answer[: -len(_DONE)])
    end = 1 + numbers[0]
    return numbers[1:end].tolist(), numbers[end:].tolist()
