"""Folders by descriptor, the fingerprints of files, and links: no link is ever followed."""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from operator import attrgetter

from ..errors import BrainError, InvalidInput, error_from_os, printable_text
from ..objects.collisions import is_safe_link_target
from ..objects.tree_node import EXECUTABLE, FILE, LINK

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

    def open(self, folder: str, make: bool = False) -> int:
        """Return a descriptor of `folder` ("" is the root), valid until the next call.

        With `make`, missing folders are created. Raises `FileNotFoundError` and other `OSError`s,
        and `InvalidInput` (`unsafe_path`) if a part is a link or not a folder.
        """
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
                fd = _open_part(part, fd, make)
            except OSError as error:
                if error.errno in _NOT_A_FOLDER_ERRNOS:
                    raise unsafe_path_error(folder) from error
                raise
            above = f"{above}{part}/"
            chain.append((above, fd))
        return fd

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


@contextmanager
def open_folders(root: RootPath) -> Iterator[FolderHandles]:
    """Open the folder of a brain, and folders below it. Raises as `open_root`."""
    with open_root(root) as root_fd:
        folders = FolderHandles(root_fd)
        try:
            yield folders
        finally:
            folders.close()


def _open_part(name: str, above: int, make: bool) -> int:
    try:
        return os.open(name, OPEN_FOLDER_FLAGS, dir_fd=above)
    except FileNotFoundError:
        if not make:
            raise
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


_FINGERPRINT_FORMAT = struct.Struct("<qqQQI")
FINGERPRINT_BYTES = _FINGERPRINT_FORMAT.size
"""Bytes in a fingerprint."""

stat_fields = attrgetter("st_mtime_ns", "st_ctime_ns", "st_size", "st_ino", "st_mode")
pack_fingerprint = _FINGERPRINT_FORMAT.pack
"""Packs the `stat_fields` of a stat; raises `struct.error` for times outside 64 bits."""

UNREAD_FILE = pack_fingerprint(0, 0, 0, 0, stat.S_IFREG)
UNREAD_FOLDER = pack_fingerprint(0, 0, 0, 0, stat.S_IFDIR)
"""The fingerprints of a file that the next scan reads, and of a folder that it lists."""

ABSENT_ERRNOS = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG))
"""Errors for a path without a file; a name that is too long cannot exist."""

_SECOND_NS = 1_000_000_000
_FINE_TICK_NS = _SECOND_NS // 20
_COARSE_TICK_NS = 2 * _SECOND_NS


def fingerprint_of(st: os.stat_result) -> bytes:
    """Return the fingerprint of a file; times outside 64 bits are cut to the nearest."""
    try:
        return pack_fingerprint(*stat_fields(st))
    except struct.error:
        mtime, ctime, *others = stat_fields(st)
        times = (min(max(time, -(1 << 63)), (1 << 63) - 1) for time in (mtime, ctime))
        return pack_fingerprint(*times, *others)


def unmatchable_fingerprint(stored: bytes) -> bytes:
    """Return a fingerprint of the same mode that no file has, so that the file is read again."""
    return pack_fingerprint(0, 0, 0, 0, fingerprint_mode(stored))


def fingerprint_mode(stored: bytes) -> int:
    """Return the mode within a fingerprint."""
    return int.from_bytes(stored[-4:], "little")


def is_racy(stored: bytes, moment: int) -> bool:
    """Tell whether a file could have changed after `moment` without a change of its times.

    Times without nanoseconds come from a file system with a resolution of one or two seconds.
    """
    mtime, ctime, *_ = _FINGERPRINT_FORMAT.unpack(stored)
    return is_after(mtime, moment) or is_after(ctime, moment)


def is_after(then: int, moment: int) -> bool:
    """Tell whether a time of a file may be of a change after `moment`, by a tick of the clock."""
    return bool(then > moment - (_FINE_TICK_NS if then % _SECOND_NS else _COARSE_TICK_NS))


def lstat_or_none(path: str | os.PathLike[str]) -> os.stat_result | None:
    """Return the stat of a file or link, None if it does not exist."""
    try:
        return os.lstat(path)
    except OSError as error:
        if error.errno in ABSENT_ERRNOS:
            return None
        raise


def entry_kind(mode: int) -> int:
    """Return FILE, EXECUTABLE or LINK for a mode."""
    if stat.S_ISLNK(mode):
        return LINK
    return EXECUTABLE if mode & stat.S_IXUSR else FILE


def encode_link_target(path: str, target: str) -> bytes:
    """Return the content of a link, given its text as `os.readlink` returns it.

    Raises `InvalidInput` (`link_outside`) if it may lead outside or is not UTF-8.
    """
    content = target.encode("utf-8", "surrogateescape")
    check_link_inside(path, content)
    return content


def check_link_inside(path: str, content: bytes) -> None:
    """Raise `InvalidInput` (`link_outside`) for a link that may lead outside the brain."""
    if not is_safe_link_target(path, content):
        raise InvalidInput(
            f"the link {printable_text(path)} leads outside the brain: {printable_text(content)}",
            code="link_outside",
            hint="use a relative link with '..' only at its beginning",
        )
