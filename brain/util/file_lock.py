"""Advisory file locks between processes and threads.

The lock is `flock(2)`: it belongs to the open file description, so that two opens in one
process exclude each other too, and the system releases it when its holder dies. A forked
child shares the lock of its parent.

A wait without a limit sleeps in the kernel. A wait with a limit polls, since `flock` has
no timeout: a signal to interrupt it would go to the main thread only, and a thread that
sleeps in it cannot be stopped, may obtain the lock after its caller has given up, and
keeps the process from forking.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal

FIRST_WAIT_SECONDS = 0.001
LONGEST_WAIT_SECONDS = 0.05
SHORTEST_WAIT_SECONDS = 0.004
"""Seconds between two attempts. The wait doubles from the first to the longest, and then
shrinks as one over the seconds waited: of many waiters, the oldest try most often, so that
hardly one waits many times as long as the others."""

_OPEN_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NOCTTY


class LockTimeout(Exception):
    """Another holder did not release the lock in time."""


@contextmanager
def lock_file(
    target: int | str | os.PathLike[str],
    timeout: float | None = None,
    on_unsupported: Literal["raise", "ignore"] = "raise",
) -> Iterator[int]:
    """Hold an exclusive lock on a file or folder during the block; yield its descriptor.

    `target` is an open descriptor, which stays open, or a path, which is opened; a missing
    file is created, readable by its owner alone, and stays. `timeout` is in seconds: 0 tries
    once, None waits without a limit. With "ignore" the block runs unlocked where the file
    system has no locks, as on some network drives. Raises `LockTimeout`, and `OSError` if
    the target cannot be opened or locked.
    """
    handle = target if isinstance(target, int) else _open_target(target)
    try:
        try:
            _acquire(handle, timeout)
        except OSError:
            if on_unsupported == "raise":
                raise
        yield handle
    finally:
        if handle is target:
            _release(handle)
        else:
            os.close(handle)


def next_lock_wait(wait: float, waited: float) -> float:
    """Return the seconds to the next attempt, after a wait and so many seconds in all."""
    return min(2 * wait, max(LONGEST_WAIT_SECONDS / (1 + waited), SHORTEST_WAIT_SECONDS))


def _open_target(path: str | os.PathLike[str]) -> int:
    if os.path.isdir(path):
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    return os.open(path, os.O_RDWR | os.O_CREAT | _OPEN_FLAGS, 0o600)


def _acquire(handle: int, timeout: float | None) -> None:
    import fcntl  # not at the start of each command: most take no lock

    if timeout is None:
        fcntl.flock(handle, fcntl.LOCK_EX)
        return
    start = time.monotonic()
    wait = FIRST_WAIT_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            waited = time.monotonic() - start
            if waited >= timeout:
                raise LockTimeout from None
        time.sleep(min(wait, timeout - waited))
        wait = next_lock_wait(wait, waited)


def _release(handle: int) -> None:
    import fcntl

    with suppress(OSError):  # closing the descriptor releases it too
        fcntl.flock(handle, fcntl.LOCK_UN)
