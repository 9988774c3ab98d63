"""Write files atomically and durably.

The rules: content is written to a temporary file beside the target and synced before it is
renamed, so that after a crash the name leads to the old or to the new content, whole. A
rename itself survives a power cut only when its folder was synced after it. A durable
write does both; a write that is not durable is still atomic for other processes, but may
be lost or found empty after a power cut.

The temporary file is called `.NAME.RANDOM`, is never opened through a link nor shared with
another thread or process, and is removed if the write fails.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress

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
