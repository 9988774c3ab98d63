"""Files that must not be lost or shared: atomic writes, locks, and files that hold secrets.

An atomic write puts the content into a temporary file `.NAME.RANDOM` beside the target, never
through a link, and syncs it before it is renamed, so that after a crash the name leads to the old
or to the new content, whole. A rename survives a power cut only when its folder was synced after
it: a durable write does that too.

A lock is `flock(2)`: it belongs to the open file description, so that two opens in one process
exclude each other, and the system releases it when its holder dies. A forked child shares it.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Literal

from ..errors import InvalidInput, printable_text

AnyPath = str | os.PathLike[str]

_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NAME_PREFIX_CHARS = 50
"""Characters of the target's name in a temporary name, which has at most 255 bytes."""


def write_atomic(
    path: AnyPath,
    data: bytes | Iterable[bytes],
    *,
    mode: int | None = 0o600,
    durable: bool = True,
    replace: bool = True,
    dir_fd: int | None = None,
    before_rename: Callable[[], object] | None = None,
) -> int:
    """Put a file with the content `data`, bytes or pieces, at `path`; return its size in bytes.

    `mode` holds the exact permissions; with None they are those of the file that is replaced,
    or of any new file, by the umask. Without `replace` an existing file is kept and
    `FileExistsError` raised. `path` is relative to the folder `dir_fd` if given.
    `before_rename` is called once the content is on disk, and may raise to abandon the write.
    Raises `OSError`.
    """
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name[:_NAME_PREFIX_CHARS]}.{os.urandom(8).hex()}")
    if mode is None and replace:
        with suppress(OSError):
            mode = os.stat(path, dir_fd=dir_fd, follow_symlinks=False).st_mode & 0o777
    try:
        handle = os.open(temporary, _CREATE_FLAGS, 0o666 if mode is None else mode, dir_fd=dir_fd)
    except OSError as error:
        error.filename = path  # the name that the user knows
        raise
    try:
        with open(handle, "wb") as file:
            if mode is not None and os.fstat(handle).st_mode & 0o7777 != mode:
                os.fchmod(handle, mode)
            file.writelines([data] if isinstance(data, bytes) else data)
            size = file.tell()
            file.flush()
            if durable:
                os.fsync(handle)
        if before_rename:
            before_rename()
        if replace:
            os.replace(temporary, path, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
        else:
            os.link(temporary, path, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
            os.unlink(temporary, dir_fd=dir_fd)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=dir_fd)
        raise
    if durable:
        sync_folder(folder or os.curdir, dir_fd=dir_fd)
    return size


def move_durable(source: AnyPath, target: AnyPath) -> None:
    """Rename a file, in place of any file at `target`; the new name survives a power cut."""
    os.replace(source, target)
    folders = [os.path.dirname(path) or os.curdir for path in (target, source)]
    for folder in dict.fromkeys(folders):
        sync_folder(folder)


def sync_folder(folder: AnyPath, *, dir_fd: int | None = None) -> None:
    """Make the names in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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
    if isinstance(target, int):
        handle = target
    elif os.path.isdir(target):
        handle = os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    else:
        handle = os.open(target, os.O_RDWR | os.O_CREAT | _OPEN_FLAGS, 0o600)
    try:
        try:
            _acquire(handle, timeout)
        except OSError:
            if on_unsupported == "raise":
                raise
        yield handle
    finally:
        if handle is target:
            import fcntl

            with suppress(OSError):  # closing the descriptor releases it too
                fcntl.flock(handle, fcntl.LOCK_UN)
        else:
            os.close(handle)


def is_locked(path: str | os.PathLike[str]) -> bool:
    """Tell whether a process holds the exclusive lock on a file; others may ask meanwhile.

    False if the file is absent or cannot be opened.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(handle)
    return False


def next_lock_wait(wait: float, waited: float) -> float:
    """Return the seconds to the next attempt, after a wait and so many seconds in all."""
    return min(2 * wait, max(LONGEST_WAIT_SECONDS / (1 + waited), SHORTEST_WAIT_SECONDS))


def _acquire(handle: int, timeout: float | None) -> None:
    import fcntl  # not at the start of each command: most take no lock

    if timeout is None:
        fcntl.flock(handle, fcntl.LOCK_EX)
        return
    # `flock` has no timeout. A signal to interrupt it would go to the main thread only, and a
    # thread that sleeps in it may obtain the lock after its caller has given up: so it is polled.
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


def read_secret_file(path: str, max_bytes: int, what: str) -> bytes:
    """Return the content of a file, of which at most `max_bytes` + 1 are read.

    `what` names the secret in messages. A file that is not regular, such as a pipe, has no
    readers to name. Raises `InvalidInput` (`key_readable`), `OSError`.
    """
    with open(path, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISREG(mode) and mode & 0o077:
            raise InvalidInput(
                f"others may read {what} in {path}",
                code="key_readable",
                hint=f"let only its owner read it: chmod 600 {printable_text(path)}",
            )
        return file.read(max_bytes + 1)


SECRET_FILES = frozenset({".netrc", ".pypirc", ".npmrc", ".git-credentials"})
KEY_PREFIXES = ("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519")
KEY_SUFFIXES = (".pem", ".key", ".p12", ".pfx", ".p8", ".ppk", ".jks", ".keystore", ".kdbx")


def is_secret_file_name(name: str) -> bool:
    """Tell whether a file called `name` usually holds secrets."""
    low = name.lower()
    is_key = low.startswith(KEY_PREFIXES) or low.endswith(KEY_SUFFIXES)
    return is_key or low in SECRET_FILES or low.startswith(".env")
