"""Read regular files, without following links: one consistent state or an error."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterable, Iterator

from .. import limits
from ..errors import InvalidInput
from ..named_tuple import NamedTuple
from ..objects.tree_node import LINK
from . import handles
from .handles import UNREADABLE, FolderHandles, RootPath, open_folders, unreadable_error

TOO_LARGE = "too_large"
"""The code of the error for a file that is too large."""
STREAMED_FILE_BYTES = 256 << 10
"""Files of this size or more are not read into memory as a whole."""

_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAX_READ_ATTEMPTS = 4
_TYPE_CHANGED_ERRNOS = {errno.ELOOP, errno.EINVAL, errno.ENXIO, errno.EAGAIN, errno.EISDIR}


class CandidateFile(NamedTuple):
    """A file not proven unchanged; `size` is in bytes."""

    path: str
    kind: int
    size: int
    fingerprint: bytes


class LargeFile:
    """A large file, open for reading.

    `raw` reads it without a buffer; `size` is in bytes. The content is one state of the file if
    `verify_unchanged` passes after the last read.
    """

    def __init__(self, path: str, fd: int, st: os.stat_result) -> None:
        self.path = path
        self.raw = io.FileIO(fd)
        self.size = st.st_size
        self._fields = handles.stat_fields(st)

    def verify_unchanged(self) -> None:
        """Raise `InvalidInput` (`changed_while_reading`) if the file changed since opening."""
        if handles.stat_fields(os.fstat(self.raw.fileno())) != self._fields:
            raise _changed_while_reading_error(self.path, "its size or times changed")


ReadContent = bytes | LargeFile


def read_candidates(
    root: RootPath,
    candidates: Iterable[CandidateFile],
    skipped: dict[str, InvalidInput] | None = None,
) -> Iterator[tuple[CandidateFile, ReadContent]]:
    """Read each file; yield its state when it was read, and its content.

    The content of a file of STREAMED_FILE_BYTES or more is a `LargeFile`, which is closed before
    the next file; the content of a link is its text. The order of paths is the fastest. A file
    that its rights keep from being read is added to `skipped`, if that is given. Raises
    `InvalidInput` (`changed_while_reading`, `unreadable`, `unsafe_path`, `not_regular`,
    `link_outside`, `too_large`).
    """
    with open_folders(root) as folders:
        for candidate in candidates:
            try:
                current, content = _read_candidate(folders, candidate)
            except InvalidInput as error:
                if skipped is None or error.code not in (UNREADABLE, TOO_LARGE):
                    raise
                skipped[candidate.path] = error
                continue
            try:
                yield current, content
            finally:
                if not isinstance(content, bytes):
                    content.raw.close()


def read_working_file(root: RootPath, path: str) -> bytes:
    """Return the content of the file at `path`, for a link its text.

    Raises as `read_candidates`.
    """
    content = read_bounded_file(root, path, limits.MAX_FILE_BYTES)
    if content is None:
        raise AssertionError("`read_candidates` refuses larger files")
    return content


def read_bounded_file(root: RootPath, path: str, limit: int) -> bytes | None:
    """As `read_working_file`, but return None for a file of more than `limit` bytes."""
    for _, content in read_candidates(root, [lstat_candidate(root, path)]):
        if isinstance(content, bytes):
            return content if len(content) <= limit else None
        if content.size > limit:
            return None
        data = content.raw.readall()
        content.verify_unchanged()
        return data
    raise AssertionError("one candidate has one content")


def lstat_candidate(root: RootPath, path: str) -> CandidateFile:
    """Return the present state of the file at `path`. Raises `InvalidInput`."""
    folder, _, name = path.rpartition("/")
    with open_folders(root) as folders:
        try:
            st = os.lstat(name, dir_fd=folders.open(folder))
        except OSError as error:
            raise _read_error(path, error) from error
    return candidate_from_stat(path, st)


def _read_candidate(
    folders: FolderHandles, candidate: CandidateFile
) -> tuple[CandidateFile, ReadContent]:
    path, kind, *_ = candidate
    folder, _, name = path.rpartition("/")
    try:
        folder_fd = folders.open(folder)
        if kind == LINK:
            st = os.lstat(name, dir_fd=folder_fd)
            text = handles.encode_link_target(path, os.readlink(name, dir_fd=folder_fd))
            return CandidateFile(path, LINK, len(text), handles.fingerprint_of(st)), text
        fd = os.open(name, _OPEN_FLAGS, dir_fd=folder_fd)
        try:
            found = _read_stable(path, fd)
        except BaseException:
            os.close(fd)
            raise
    except OSError as error:
        raise _read_error(path, error) from error
    if isinstance(found[1], bytes):
        os.close(fd)
    return found


def _read_stable(path: str, fd: int) -> tuple[CandidateFile, ReadContent]:
    fields = handles.stat_fields
    for _ in range(_MAX_READ_ATTEMPTS):
        st = os.fstat(fd)
        if stat.S_ISDIR(st.st_mode):
            raise _changed_while_reading_error(path, "its type changed")
        if not stat.S_ISREG(st.st_mode):
            raise InvalidInput(
                f"{path} is not a regular file",
                code="not_regular",
                hint="move it out of the brain, or name it in .brainignore",
            )
        size = st.st_size
        if size > limits.MAX_FILE_BYTES:
            raise file_too_large_error(path, size)
        os.lseek(fd, 0, os.SEEK_SET)
        if size >= STREAMED_FILE_BYTES:
            return candidate_from_stat(path, st), LargeFile(path, fd, st)
        content = os.read(fd, size + 1)
        if len(content) == size and fields(os.fstat(fd)) == fields(st):
            return candidate_from_stat(path, st), content
    raise _changed_while_reading_error(path, "it kept changing")


def _read_error(path: str, error: OSError) -> InvalidInput:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return _changed_while_reading_error(path, "it was removed")
    if error.errno in _TYPE_CHANGED_ERRNOS:
        return _changed_while_reading_error(path, "its type changed")
    return unreadable_error(path, error)


def _changed_while_reading_error(path: str, how: str) -> InvalidInput:
    return InvalidInput(
        f"{path} changed while it was read: {how}",
        code="changed_while_reading",
        hint="try again while nothing writes to it",
    )


def candidate_from_stat(path: str, st: os.stat_result) -> CandidateFile:
    """Return a file with its stat as a candidate."""
    kind, fingerprint = handles.entry_kind(st.st_mode), handles.fingerprint_of(st)
    return CandidateFile(path, kind, st.st_size, fingerprint)


def file_too_large_error(path: str, size: int) -> InvalidInput:
    """Return the error for a file that is too large."""
    return InvalidInput(
        f"{path} has {size} bytes, more than {limits.MAX_FILE_BYTES}",
        code=TOO_LARGE,
        hint="move it out of the brain, or name it in .brainignore",
    )
