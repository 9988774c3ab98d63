"""Write one file atomically, without following links; remove temporary files of killed writers.

A file is written under a temporary name in its folder and renamed into place, so readers see the
old or the new content. Nothing is synced to the disk: the store has the content, and a file
that a power cut damages shows as a change.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count

from ..errors import BrainError, Conflict, InvalidInput, printable_text
from ..objects.paths import TEMPORARY_PREFIX
from ..objects.tree_entry import EXECUTABLE, LINK
from ..util.lazy_regex import lazy_pattern
from . import symlinks
from .dirfd import (
    FolderHandles,
    RootPath,
    open_folders,
    unsafe_path_error,
    unwritable_error,
    write_all,
)

WriteContent = bytes | Iterator[bytes]
"""The content as a whole or in pieces; for a link, its text."""

_RUN_PREFIX = TEMPORARY_PREFIX + os.urandom(8).hex()
_FILE_COUNTER = count()
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def replace_file(folders: FolderHandles, path: str, kind: int, content: WriteContent) -> None:
    """Write a file or link at `path`, a checked path, in place of any file or link there.

    A file in place of a file keeps its permissions, except that `kind` decides whether it can
    be executed. Raises `BrainError` as `write_error`, and `InvalidInput` (`link_outside`).
    """
    folder, _, name = path.rpartition("/")
    temporary = temporary_name()
    try:
        folder_fd = folders.open_or_make(folder)
        try:
            permissions = _permissions_in_place(folder_fd, name, kind)
            create_file(folder_fd, temporary, path, kind, content, permissions)
            _rename(folder_fd, temporary, name)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder_fd)
            raise
    except OSError as error:
        raise write_error(path, error) from error


def create_file(
    folder_fd: int,
    name: str,
    path: str,
    kind: int,
    content: WriteContent,
    permissions: int | None = None,
) -> None:
    """Write a new file or link called `name`; `path` is its final path.

    Without `permissions` they are those of any new file, by the umask.
    """
    if kind == LINK:
        text = content if isinstance(content, bytes) else b"".join(content)
        symlinks.check_link_inside(path, text)
        os.symlink(text, name, dir_fd=folder_fd)
        return
    usual = 0o755 if kind == EXECUTABLE else 0o644
    mode = usual if permissions is None else permissions
    fd = os.open(name, _CREATE_FLAGS, mode, dir_fd=folder_fd)
    try:
        if permissions is not None and stat.S_IMODE(os.fstat(fd).st_mode) != permissions:
            with suppress(PermissionError):  # a file system without permissions
                os.fchmod(fd, permissions)
        if isinstance(content, bytes):
            write_all(fd, content)
        else:
            for piece in content:
                write_all(fd, piece)
    finally:
        os.close(fd)


def _permissions_in_place(folder_fd: int, name: str, kind: int) -> int | None:
    """Return the permissions for a file that takes the place of `name`, None if no file is there.

    The owner can always read it, since the brain has to.
    """
    try:
        mode = os.lstat(name, dir_fd=folder_fd).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        return None
    readable = mode & 0o666 | stat.S_IRUSR
    if kind != EXECUTABLE:
        return readable
    return readable | (mode & 0o111 or (readable & 0o444) >> 2) | stat.S_IXUSR


def temporary_name() -> str:
    """Return a new name."""
    return f"{_RUN_PREFIX}{next(_FILE_COUNTER):08x}"


def write_error(path: str, error: OSError) -> BrainError:
    """Return the error for a path that could not be written or removed."""
    if error.errno in (errno.EISDIR, errno.ENOTEMPTY, errno.EEXIST):
        return Conflict(
            f"{printable_text(path)} is a folder that is not empty, where a file is to be",
            code="path_conflict",
            hint="move the folder away",
        )
    if error.errno == errno.ENOTDIR:
        return unsafe_path_error(path)
    return unwritable_error(path, error)


def _rename(folder_fd: int, temporary: str, name: str) -> None:
    try:
        os.replace(temporary, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
    except IsADirectoryError:
        os.rmdir(name, dir_fd=folder_fd)
        os.replace(temporary, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)


_TEMPORARY_NAME = lazy_pattern(re.escape(TEMPORARY_PREFIX) + "[0-9a-f]{16,24}")


def remove_temporary_files(root: RootPath, paths: Iterable[str] = ()) -> None:
    """Remove the temporary files and folders of a writer of `paths`, as far as possible.

    They are in the folders of those paths, at the top, and in `.brain`. Call it only while no
    other writer can run.
    """
    above = {path.rpartition("/")[0] for path in paths}
    with open_folders(root) as folders:
        for folder in sorted({"", ".brain", *above}):
            with suppress(OSError, InvalidInput):  # a missing folder or a link has none
                _remove_temporary_files_in(folders.open(folder))


def _remove_temporary_files_in(folder_fd: int) -> None:
    from shutil import rmtree

    for name in filter(_TEMPORARY_NAME().fullmatch, os.listdir(folder_fd)):
        try:
            os.unlink(name, dir_fd=folder_fd)
        except IsADirectoryError:
            rmtree(name, ignore_errors=True, dir_fd=folder_fd)
