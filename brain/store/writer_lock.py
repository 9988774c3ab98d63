"""The writer lock: an advisory lock on the file `lock` in the folder of the store.

The store has a lock of its own for the length of a transaction. This one is
wider: it also covers the files of the work tree, which the store cannot roll
back, and it can say who holds it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ..errors import Locked, StoreError
from .file_checks import open_regular_file

if TYPE_CHECKING:
    from pathlib import Path

LOCK_FILE_NAME = "lock"
FIRST_WAIT_SECONDS = 0.001
LONGEST_WAIT_SECONDS = 0.05
SHORTEST_WAIT_SECONDS = 0.004
"""Seconds between two attempts. The wait doubles from the first to the longest, and then
shrinks as one over the seconds waited: of many writers, those that wait long try most often,
so that hardly one waits many times as long as the others."""


@contextmanager
def writer_lock(folder: Path, timeout: float, whole: str = "the brain") -> Iterator[bool]:
    """Hold the lock in `folder`, which guards `whole`, for the length of the block.

    Yields whether the last holder died while it held it. Raises `Locked` with the
    holder's process id if another one keeps it for `timeout` seconds, `StoreError`
    (`read_only`, `cannot_open`, `bad_store`) if the lock cannot be taken. The file stays:
    removing it would let two in.
    """
    handle = _open_lock_file(folder, whole)
    try:
        try:
            _acquire(handle, timeout, whole)
        except OSError as error:
            raise _lock_error(folder, whole, error) from error
        died = os.fstat(handle).st_size > 0
        try:
            _write_holder_pid(handle)
            yield died
        finally:
            with suppress(OSError):  # the name of one that lives: the next one tidies in vain
                os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _write_holder_pid(handle: int) -> None:
    """Note who holds the lock, so that at no time the note is empty once it was not.

    The lock holds without a note too, as on a full disk.
    """
    name = b"%d\n" % os.getpid()
    with suppress(OSError):
        os.pwrite(handle, name, 0)
        os.ftruncate(handle, len(name))


def _open_lock_file(folder: Path, whole: str) -> int:
    path = os.path.join(folder, LOCK_FILE_NAME)
    try:
        handle = open_regular_file(path, os.O_RDWR | os.O_CREAT)
        if os.fstat(handle).st_mode & 0o600 != 0o600:  # new, under a umask that takes all
            os.fchmod(handle, 0o600)
        if os.geteuid() == 0:
            owner = os.stat(folder)
            os.fchown(handle, owner.st_uid, owner.st_gid)
        return handle
    except OSError as error:
        raise _lock_error(folder, whole, error) from error


def _lock_error(folder: Path, whole: str, error: OSError) -> StoreError:
    return StoreError(
        f"cannot take the lock of {whole}: {error.strerror}",
        code="cannot_open" if os.access(folder, os.W_OK) else "read_only",
        hint=f"writing needs write access to the folder {os.path.basename(folder)}",
    )


def next_lock_wait(wait: float, waited: float) -> float:
    """Return the seconds to the next attempt, after a wait and so many seconds in all."""
    return min(2 * wait, max(LONGEST_WAIT_SECONDS / (1 + waited), SHORTEST_WAIT_SECONDS))


def _acquire(handle: int, timeout: float, whole: str) -> None:
    import fcntl

    start = time.monotonic()
    wait = FIRST_WAIT_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            waited = time.monotonic() - start
            if waited >= timeout:
                break
        time.sleep(min(wait, timeout - waited))
        wait = next_lock_wait(wait, waited)
    holder = os.pread(handle, 32, 0).decode("ascii", "replace").partition("\n")[0]
    by = f" by pid {holder}" if holder.isdigit() else ""
    raise Locked(
        f"{whole} is locked{by}",
        hint="wait until the other command is done, and try again",
    )
