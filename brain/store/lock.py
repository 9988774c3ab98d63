"""One writer at a time: an advisory lock on `lock` in the folder of the store.

The store has a lock of its own for the length of a transaction. This one is
wider: it also covers the files of the work tree, which the store cannot roll
back, and it can say who holds it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import Locked, StoreError

if TYPE_CHECKING:
    from pathlib import Path

NAME = "lock"
FIRST_WAIT = 0.001
LONGEST_WAIT = 0.05
"""Seconds between two attempts; the wait doubles from the first to the longest."""


@contextmanager
def writer_lock(folder: Path, timeout: float) -> Iterator[None]:
    """Hold the lock of the store in `folder` for the length of the block.

    Raises `Locked` with the holder's process id if another one keeps it for
    `timeout` seconds, `StoreError` (`read_only`, `cannot_open`) if the lock
    file cannot be written. The file stays: removing it would let two in.
    """
    handle = _open(folder)
    try:
        _acquire(handle, timeout)
        os.ftruncate(handle, 0)
        os.pwrite(handle, b"%d\n" % os.getpid(), 0)
        try:
            yield
        finally:
            os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _open(folder: Path) -> int:
    path = os.path.join(folder, NAME)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        if os.geteuid() == 0:
            owner = os.stat(folder)
            os.fchown(handle, owner.st_uid, owner.st_gid)
        return handle
    except OSError as error:
        code = "cannot_open" if os.access(folder, os.W_OK) else "read_only"
        raise StoreError(
            f"cannot take the lock of the brain: {error.strerror}",
            code=code,
            hint="writing needs write access to the folder .brain",
        ) from error


def _acquire(handle: int, timeout: float) -> None:
    import fcntl

    deadline = time.monotonic() + timeout
    wait = FIRST_WAIT
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            left = deadline - time.monotonic()
            if left <= 0:
                break
        time.sleep(min(wait, left))
        wait = min(2 * wait, LONGEST_WAIT)
    holder = os.pread(handle, 32, 0).decode("ascii", "replace").strip()
    by = f" by pid {holder}" if holder.isdigit() else ""
    raise Locked(
        f"the brain is locked{by}",
        hint="wait until the other command is done, and try again",
    )
