"""Open folders by descriptor, part by part, without following links."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from ..errors import BrainError, InvalidInput, error_from_os, printable_text

RootPath = str | os.PathLike[str]
"""The folder that holds a brain."""

OPEN_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
UNREADABLE = "unreadable"
"""The code of the error for what its rights keep from being read."""
_NOT_A_FOLDER_ERRNOS = {errno.ENOTDIR, errno.ELOOP}
_DOT_NAMES = {"", ".", ".."}


@contextmanager
def open_root(root: RootPath) -> Iterator[int]:
    """Open the folder of a brain; the path to it may contain links, since the user gave it.

    Raises `InvalidInput` (`unreadable`, `read_failed`).
    """
    try:
        fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise unreadable_error(str(root), error) from error
    try:
        yield fd
    finally:
        os.close(fd)


class FolderHandles:
    """Opens folders below a root and keeps the last one, with its parents, open.

    So consecutive files in one folder, or in neighbours, cost little. The caller closes `root_fd`.
    """

    def __init__(self, root_fd: int) -> None:
        self.root_fd = root_fd
        self._open_chain = [("", root_fd)]

    def open(self, folder: str) -> int:
        """Return a descriptor of `folder` ("" is the root), valid until the next call.

        Raises `FileNotFoundError` and other `OSError`s, and `InvalidInput` (`unsafe_path`) if a
        part is a link or not a folder.
        """
        return self._descend(folder, _open_subfolder)

    def open_or_make(self, folder: str) -> int:
        """As `open`, but create missing folders."""
        return self._descend(folder, _make_subfolder)

    def find_missing_folder(self, folder: str) -> str:
        """Return the topmost missing folder on the way to `folder`, "" if none is missing.

        Raises as `open`, except that `OSError` becomes `BrainError` (`unwritable`).
        """
        try:
            self.open(folder)
        except FileNotFoundError:
            above = self._open_chain[-1][0]
            return above + folder[len(above) :].partition("/")[0]
        except OSError as error:
            raise unwritable_error(folder, error) from error
        return ""

    def close(self) -> None:
        """Close every descriptor that was opened here."""
        while len(self._open_chain) > 1:
            os.close(self._open_chain.pop()[1])

    def _descend(self, folder: str, open_part: Callable[[str, int], int]) -> int:
        chain = self._open_chain
        path = f"{folder}/" if folder else ""
        above, fd = chain[-1]
        if path == above:
            return fd
        while not path.startswith(above):
            os.close(fd)
            chain.pop()
            above, fd = chain[-1]
        for part in path[len(above) : -1].split("/") if path != above else ():
            if part in _DOT_NAMES:
                raise unsafe_path_error(folder)
            try:
                fd = open_part(part, fd)
            except OSError as error:
                if error.errno in _NOT_A_FOLDER_ERRNOS:
                    raise unsafe_path_error(folder) from error
                raise
            above = f"{above}{part}/"
            chain.append((above, fd))
        return fd


@contextmanager
def open_folders(root: RootPath) -> Iterator[FolderHandles]:
    """Open the folder of a brain, and folders below it. Raises as `open_root`."""
    with open_root(root) as root_fd:
        folders = FolderHandles(root_fd)
        try:
            yield folders
        finally:
            folders.close()


def _open_subfolder(name: str, above: int) -> int:
    return os.open(name, OPEN_FOLDER_FLAGS, dir_fd=above)


def _make_subfolder(name: str, above: int) -> int:
    try:
        return os.open(name, OPEN_FOLDER_FLAGS, dir_fd=above)
    except FileNotFoundError:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=above)
        return os.open(name, OPEN_FOLDER_FLAGS, dir_fd=above)


def unreadable_error(path: str, error: OSError) -> InvalidInput:
    """Return the error for a file or folder that cannot be read.

    Its code is `UNREADABLE` if its rights are the reason: such a file is left out and named. If
    the machine lacks something, or its disk fails, the file must not be left out.
    """
    if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
        return InvalidInput(
            f"{printable_text(path)} could not be read: {error.strerror}",
            code="no_resources",
            hint="end other programs, then run it again",
        )
    if error.errno not in (errno.EACCES, errno.EPERM):
        return InvalidInput(
            f"{printable_text(path)} could not be read: {error.strerror}",
            code="read_failed",
            hint="check the disk or the network, or leave the file out by a line in .brainignore",
        )
    return InvalidInput(
        f"{printable_text(path)} cannot be read: {error.strerror}",
        code=UNREADABLE,
        hint="make it readable, or name it in .brainignore",
    )


def unwritable_error(path: str, error: OSError) -> BrainError:
    """Return the error for a file or folder that cannot be written."""
    return BrainError(
        f"{printable_text(path)} cannot be written: {error.strerror}",
        code="unwritable",
        hint=error_from_os(error).hint,
    )


def unsafe_path_error(path: str) -> InvalidInput:
    """Return the error for a path through a link, or through a file."""
    return InvalidInput(
        f"{printable_text(path)} cannot be reached: a part of the path is a link or a file",
        code="unsafe_path",
        hint="move it out of the way",
    )


def write_all(fd: int, content: bytes) -> None:
    """Write all of `content`; a single write may be partial."""
    written = os.write(fd, content)
    while written < len(content):
        written += os.write(fd, memoryview(content)[written:])
