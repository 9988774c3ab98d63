"""Writing one file: atomically, through no link, never outside the brain.

A file is written under a temporary name in its own folder and renamed into place, so
that it is there as it was or as it shall be. Nothing is synced to the disk: the store
holds what matters, and what a power cut takes from the folder shows as a change.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import count

from ..errors import BrainError, Conflict, printable
from ..objects.entry import EXECUTABLE, LINK
from . import links
from .defaults import TEMPORARY
from .folders import Folders, unsafe, unwritable, write_all

Content = bytes | Iterator[bytes]
"""Content at once or in pieces; for a link, its text."""

_RUN = TEMPORARY + os.urandom(8).hex()
_NUMBER = count()
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def replace(folders: Folders, path: str, kind: int, content: Content) -> None:
    """Put a file or link at `path`, which `paths.check` let pass, in place of what is there.

    Raises `BrainError` as `failure` says, and `InvalidInput` (`link_outside`).
    """
    folder, _, name = path.rpartition("/")
    temporary = temporary_name()
    try:
        folder_fd = folders.make(folder)
        try:
            create(folder_fd, temporary, path, kind, content)
            _rename(folder_fd, temporary, name)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder_fd)
            raise
    except OSError as error:
        raise failure(path, error) from error


def create(folder_fd: int, name: str, path: str, kind: int, content: Content) -> None:
    """Write a new file or link called `name`; `path` is where it will end up."""
    if kind == LINK:
        text = content if isinstance(content, bytes) else b"".join(content)
        links.refuse_outside(path, text)
        os.symlink(text, name, dir_fd=folder_fd)
        return
    fd = os.open(name, _CREATE, 0o755 if kind == EXECUTABLE else 0o644, dir_fd=folder_fd)
    try:
        if isinstance(content, bytes):
            write_all(fd, content)
        else:
            for piece in content:
                write_all(fd, piece)
    finally:
        os.close(fd)


def temporary_name() -> str:
    """Return a name that no file has."""
    return f"{_RUN}{next(_NUMBER):08x}"


def failure(path: str, error: OSError) -> BrainError:
    """Return the error that tells why `path` could not be written or removed."""
    if error.errno in (errno.EISDIR, errno.ENOTEMPTY, errno.EEXIST):
        return Conflict(
            f"a folder with something in it is in the way: {printable(path)}",
            code="path_conflict",
            hint="move the folder away",
        )
    return unsafe(path) if error.errno == errno.ENOTDIR else unwritable(path, error)


def _rename(folder_fd: int, temporary: str, name: str) -> None:
    try:
        os.replace(temporary, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
    except IsADirectoryError:
        os.rmdir(name, dir_fd=folder_fd)
        os.replace(temporary, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
