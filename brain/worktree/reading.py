"""Reading files: through no link, regular files only, one consistent state or an error."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterable, Iterator
from typing import overload

from .. import limits
from ..errors import InvalidInput, printable
from ..objects.entry import LINK
from . import links, stats
from .folders import Folders, Root, opened, unreadable
from .walk import Candidate, too_large

LARGE = 256 << 10
"""Files from this size on are not read into memory as a whole, in bytes."""

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ATTEMPTS = 3
_OF_ANOTHER_TYPE = {errno.ELOOP, errno.EINVAL, errno.ENXIO, errno.EAGAIN, errno.EISDIR}


class LargeFile:
    """A large file, open for reading.

    `raw` reads it, without a buffer; `size` is in bytes. What was read is one state of
    the file if, and only if, `verify_unchanged` passes after the last read.
    """

    def __init__(self, path: str, fd: int, st: os.stat_result) -> None:
        self.path = path
        self.raw = io.FileIO(fd)
        self.size = st.st_size
        self._fields = stats.fields(st)

    def verify_unchanged(self) -> None:
        """Raise `InvalidInput` (`changed_while_reading`) if the file is not as it was opened."""
        if stats.fields(os.fstat(self.raw.fileno())) != self._fields:
            raise _changed(self.path, "its size or times moved")


Content = bytes | LargeFile


def read_many(root: Root, candidates: Iterable[Candidate]) -> Iterator[tuple[Candidate, Content]]:
    """Read each file; yield it, as it was when it was read, with its content.

    Files of `LARGE` bytes and more come as a `LargeFile`, which is closed when the next
    file is asked for; the content of a link is its text. Fastest in the order of paths.
    Raises `InvalidInput` (`changed_while_reading`, `unreadable`, `unsafe_path`,
    `not_regular`, `link_outside`, `too_large`).
    """
    with opened(root) as root_fd:
        folders = Folders(root_fd)
        try:
            for candidate in candidates:
                found, content = _read(folders, candidate)
                try:
                    yield found, content
                finally:
                    if not isinstance(content, bytes):
                        content.raw.close()
        finally:
            folders.close()


@overload
def read_whole(root: Root, path: str) -> bytes: ...
@overload
def read_whole(root: Root, path: str, limit: int) -> bytes | None: ...
def read_whole(root: Root, path: str, limit: int = limits.MAX_FILE_BYTES) -> bytes | None:
    """Return the content of the file at `path`, or None if it has more than `limit` bytes.

    For a link, its text. Raises as `read_many` does.
    """
    for _, content in read_many(root, [candidate(root, path)]):
        if isinstance(content, bytes):
            return content if len(content) <= limit else None
        if content.size > limit:
            return None
        whole = content.raw.readall()
        content.verify_unchanged()
        return whole
    raise AssertionError("one candidate, one content")


def candidate(root: Root, path: str) -> Candidate:
    """Look at the file at `path`. Raises `InvalidInput` as `read_many` does."""
    folder, _, name = path.rpartition("/")
    with opened(root) as root_fd:
        folders = Folders(root_fd)
        try:
            st = os.lstat(name, dir_fd=folders.open(folder))
        except OSError as error:
            raise _failure(path, error) from error
        finally:
            folders.close()
    return Candidate(path, stats.kind_of(st.st_mode), st.st_size, stats.fingerprint(st))


def _read(folders: Folders, candidate: Candidate) -> tuple[Candidate, Content]:
    path, kind, size, known = candidate
    folder, _, name = path.rpartition("/")
    try:
        folder_fd = folders.open(folder)
        if kind == LINK:
            return _read_link(path, name, folder_fd)
        fd = os.open(name, _FLAGS, dir_fd=folder_fd)
        try:
            content = _read_as_seen(fd, size, known) if size < LARGE else None
            found = (candidate, content) if content is not None else _read_stable(path, fd)
        except BaseException:
            os.close(fd)
            raise
    except OSError as error:
        raise _failure(path, error) from error
    if isinstance(found[1], bytes):
        os.close(fd)
    return found


def _read_as_seen(fd: int, size: int, known: bytes) -> bytes | None:
    """Return the content if the file is still as the scan saw it, which is the usual case."""
    content = os.read(fd, size + 1)
    st = os.fstat(fd)
    same = stat.S_ISREG(st.st_mode) and stats.fingerprint(st) == known
    return content if same and len(content) == size else None


def _read_stable(path: str, fd: int) -> tuple[Candidate, Content]:
    """Read from the start until the file holds still."""
    fields = stats.fields
    for _ in range(_ATTEMPTS):
        st = os.fstat(fd)
        if not stat.S_ISREG(st.st_mode):
            raise InvalidInput(f"{printable(path)} is not a regular file", code="not_regular")
        size = st.st_size
        if size > limits.MAX_FILE_BYTES:
            raise too_large(path, size)
        now = Candidate(path, stats.kind_of(st.st_mode), size, stats.fingerprint(st))
        os.lseek(fd, 0, os.SEEK_SET)
        if size >= LARGE:
            return now, LargeFile(path, fd, st)
        content = os.read(fd, size + 1)
        if len(content) == size and fields(os.fstat(fd)) == fields(st):
            return now, content
    raise _changed(path, "it did not hold still")


def _read_link(path: str, name: str, folder_fd: int) -> tuple[Candidate, bytes]:
    st = os.lstat(name, dir_fd=folder_fd)
    content = links.encode_target(path, links.read_target(name, folder_fd))
    return Candidate(path, LINK, len(content), stats.fingerprint(st)), content


def _failure(path: str, error: OSError) -> InvalidInput:
    """Tell what vanished, or became something else, from what cannot be read."""
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return _changed(path, "it is not there any more")
    if error.errno in _OF_ANOTHER_TYPE:
        return _changed(path, "it is something else now")
    return unreadable(path, error)


def _changed(path: str, how: str) -> InvalidInput:
    return InvalidInput(
        f"{printable(path)} changed while it was read: {how}",
        code="changed_while_reading",
        hint="try again when nothing writes to it",
    )
