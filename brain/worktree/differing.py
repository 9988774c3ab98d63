"""Comparing the whole stat cache; a large one in several processes.

lstat under one interpreter lock is slow, so children do it. Each takes groups of parts
from a pipe until it is empty, in the folder of the brain as its own, which spares it
`dir_fd`. It only calls lstat, writes what differs to another pipe and leaves by
`os._exit`. Groups that none answers for, whatever went wrong, are compared here.
"""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from .compare import Lstat, compare, entries_at, lstat_below
from .statcache import PART, StatCache

Tick = Callable[[int], None]
Work = tuple[list[int], list[int]]
"""Numbers of the groups that were compared, and places of what differs in them."""

_ENTRIES = 20_000
"""Below this the fork costs more than it saves."""
_MOST_WORKERS = 4
_MOST_GROUPS = 1024
"""Their numbers, two bytes each, must fit into a pipe at once."""
_FEWEST_PARTS = 4
_DONE = b"done"


def differing(cache: StatCache, root_fd: int, tick: Tick) -> list[tuple[str, bytes]]:
    """Return path and known fingerprint of every entry that is gone or differs.

    `tick` is told the number of entries compared so far, about.
    """
    groups = range(-(-len(cache.parts) // _group_size(cache)))
    done, places = _share(cache, root_fd, groups, workers(cache))
    if done:
        tick(len(done) * _group_size(cache) * PART)
    left = sorted(set(groups).difference(done))
    places += _work(left, cache, lstat_below(root_fd), tick)[1]
    return list(entries_at(cache, sorted(places)))


def workers(cache: StatCache) -> int:
    """Return how many children help: none if that is no faster, or not safe.

    Forking is safe for a process of one thread.
    """
    if len(cache.parts) * PART < _ENTRIES or not sys.platform.startswith("linux"):
        return 0
    try:
        processors = len(os.sched_getaffinity(0))
        threads = len(os.listdir("/proc/self/task"))
    except OSError:
        return 0
    return min(processors, _MOST_WORKERS) if processors > 1 and threads == 1 else 0


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


def _share(cache: StatCache, root_fd: int, groups: range, count: int) -> Work:
    """Have `count` children compare; what is missing from the outcome was not done."""
    done: list[int] = []
    places: list[int] = []
    children: list[tuple[int, int]] = []
    with suppress(OSError), _filled_pipe(groups) as queue:
        try:
            for _ in range(count):
                children.append(_start(cache, root_fd, queue))
            for answer, _ in children:
                theirs = _unpack(_read_all(answer))
                done += theirs[0]
                places += theirs[1]
        finally:
            _end(children, queue)
    return done, places


def _end(children: list[tuple[int, int]], queue: int) -> None:
    """Leave the children nothing more to do, and wait for them."""
    while os.read(queue, 4096):
        pass
    for answer, child in children:
        os.close(answer)
        with suppress(ChildProcessError):  # the program may not want to hear of children
            os.waitpid(child, 0)


@contextmanager
def _filled_pipe(numbers: range) -> Iterator[int]:
    """Open the end of a pipe from which each of `numbers` can be read once."""
    read_end, write_end = os.pipe()
    try:
        try:
            os.write(write_end, array("H", numbers).tobytes())
        finally:
            os.close(write_end)
        yield read_end
    finally:
        os.close(read_end)


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
