"""The writer lock: an advisory lock on the file `lock` in the folder of the store.

The store locks itself during a transaction. This lock also protects the files of the
work tree, which the store cannot roll back, and it records the process id of its holder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from ..errors import Locked, StoreError
from ..util.file_lock import LockTimeout, lock_file
from .file_checks import copy_owner, open_regular_file

if TYPE_CHECKING:
    from pathlib import Path

LOCK_FILE_NAME = "lock"


@contextmanager
def writer_lock(folder: Path, timeout: float, label: str = "the brain") -> Iterator[bool]:
    """Hold the lock in `folder`, which protects `label`, during the block.

    Yields whether the last holder died while it held the lock. Raises `Locked` with the
    process id of the holder if another one keeps the lock for `timeout` seconds, `StoreError`
    (`read_only`, `cannot_open`, `bad_store`) if the lock file cannot be used. The file stays:
    if it were removed, two processes could lock two files of that name.
    """
    handle = _open_lock_file(folder, label)
    try:
        with ExitStack() as stack:
            try:
                stack.enter_context(lock_file(handle, timeout))
            except LockTimeout:
                raise _locked_error(handle, label) from None
            except OSError as error:
                raise _lock_error(folder, label, error) from error
            died = os.fstat(handle).st_size > 0
            try:
                _write_holder_pid(handle)
                yield died
            finally:
                with suppress(OSError):  # then the next holder cleans up without need
                    os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _write_holder_pid(handle: int) -> None:
    """Record the holder, without emptying the file meanwhile."""
    name = b"%d\n" % os.getpid()
    with suppress(OSError):  # as on a full disk; the lock holds without it
        os.pwrite(handle, name, 0)
        os.ftruncate(handle, len(name))


def _open_lock_file(folder: Path, label: str) -> int:
    path = os.path.join(folder, LOCK_FILE_NAME)
    try:
        handle = open_regular_file(path, os.O_RDWR | os.O_CREAT)
        if os.fstat(handle).st_mode & 0o600 != 0o600:  # new, under a umask that denies everything
            os.fchmod(handle, 0o600)
        copy_owner(handle, folder)
        return handle
    except OSError as error:
        raise _lock_error(folder, label, error) from error


def _lock_error(folder: Path, label: str, error: OSError) -> StoreError:
    return StoreError(
        f"cannot take the lock of {label}: {error.strerror}",
        code="cannot_open" if os.access(folder, os.W_OK) else "read_only",
        hint=f"writing needs write access to the folder {os.path.basename(folder)}",
    )


def _locked_error(handle: int, label: str) -> Locked:
    holder = os.pread(handle, 32, 0).decode("ascii", "replace").partition("\n")[0]
    by = f" by pid {holder}" if holder.isdigit() else ""
    return Locked(
        f"{label} is locked{by}",
        hint="wait until the other command is done, and try again",
    )
