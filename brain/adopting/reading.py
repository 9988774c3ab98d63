"""Reading the files of a home: through no link, regular files only, of a bounded size."""

from __future__ import annotations

import errno
import os
import stat

from ..errors import InvalidInput
from ..objects.entry import LINK
from ..worktree import links, stats
from ..worktree.folders import Folders
from .left import why_not
from .protocol import File

MAX_BYTES = 16 << 20
"""Size of a file that is taken; a skill with all its files rarely has as much."""

GONE = "gone"
"""The code for what is not there."""

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MOVED = frozenset((errno.ENOTDIR, errno.ELOOP, errno.ENXIO))


class CannotTake(Exception):
    """A file that is left out: `code` and `why` say the reason."""

    def __init__(self, code: str, why: str) -> None:
        super().__init__(why)
        self.code, self.why = code, why


def read(folders: Folders, path: str, most: int = MAX_BYTES) -> File:
    """Return the regular file, of at most `most` bytes, or the link at `path`.

    Raises `CannotTake`.
    """
    folder, _, name = path.rpartition("/")
    try:
        above = folders.open(folder)
        st = os.lstat(name, dir_fd=above)
        if stat.S_ISLNK(st.st_mode):
            return File(LINK, links.encode_target(path, links.read_target(name, above)))
        if not stat.S_ISREG(st.st_mode):
            raise CannotTake("not_regular", "neither a file nor a folder")
        if st.st_size > most:
            raise CannotTake("too_large", f"{st.st_size} bytes; at most {most} are taken")
        return _regular(name, above, most)
    except InvalidInput as error:
        raise CannotTake(error.code, why_not(error)) from error
    except FileNotFoundError as error:
        raise CannotTake(GONE, "it is not there any more") from error
    except OSError as error:
        code = "changed_while_reading" if error.errno in _MOVED else "unreadable"
        raise CannotTake(code, error.strerror or code) from error


def _regular(name: str, above: int, most: int) -> File:
    fd = os.open(name, _FLAGS, dir_fd=above)
    try:
        before = os.fstat(fd)
        if not stat.S_ISREG(before.st_mode) or before.st_size > most:
            raise CannotTake("changed_while_reading", "it became something else")
        content = _all(fd, before.st_size)
        if stats.fields(os.fstat(fd)) != stats.fields(before):
            raise CannotTake("changed_while_reading", "something writes to it")
        return File(stats.kind_of(before.st_mode), content)
    finally:
        os.close(fd)


def _all(fd: int, size: int) -> bytes:
    pieces = []
    while size > 0:
        piece = os.read(fd, size)
        if not piece:
            break
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
