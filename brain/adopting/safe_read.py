"""Read a file of a home safely: no symlinks followed, regular files only, bounded size."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from ..errors import InvalidInput
from ..folder import handles
from ..folder.handles import FolderHandles
from ..objects import paths
from ..objects.tree_node import LINK
from .skipped import reason_without_path
from .source_protocol import SourceFile

MAX_ADOPTED_FILE_BYTES = 16 << 20
"""Size of a file; a skill with all its files is rarely as large."""

GONE_CODE = "gone"
"""Code of a missing file."""

_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHANGED_ERRNOS = frozenset((errno.ENOTDIR, errno.ELOOP, errno.ENXIO))


class SkipFile(Exception):
    """A file to skip, with the code and the reason."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


def real_place(folder: Path, path: str) -> str:
    """Return the path below `folder` to which `path` leads over links of folders above it.

    It is `path` itself where they lead elsewhere, or to what belongs to version control.
    """
    above, _, name = path.rpartition("/")
    root = os.path.realpath(folder)
    real = Path(os.path.realpath(os.path.join(root, above)), name)
    if not real.is_relative_to(root):
        return path
    found = real.relative_to(root)
    return path if any(map(paths.is_reserved_name, found.parts)) else found.as_posix()


def read_home_file(
    folders: FolderHandles, path: str, max_bytes: int = MAX_ADOPTED_FILE_BYTES
) -> SourceFile:
    """Return the link or the regular file, of at most `max_bytes`, at `path`.

    Raises `SkipFile`.
    """
    folder, _, name = path.rpartition("/")
    try:
        folder_fd = folders.open(folder)
        st = os.lstat(name, dir_fd=folder_fd)
        if stat.S_ISLNK(st.st_mode):
            return SourceFile(
                LINK, handles.encode_link_target(path, os.readlink(name, dir_fd=folder_fd))
            )
        if not stat.S_ISREG(st.st_mode):
            raise SkipFile("not_regular", "neither a file nor a folder")
        if st.st_size > max_bytes:
            raise SkipFile("too_large", f"{st.st_size} bytes; at most {max_bytes} are adopted")
        return _read_regular(name, folder_fd, max_bytes)
    except InvalidInput as error:
        raise SkipFile(error.code, reason_without_path(error)) from error
    except FileNotFoundError as error:
        raise SkipFile(GONE_CODE, "it does not exist any more") from error
    except OSError as error:
        code = "changed_while_reading" if error.errno in _CHANGED_ERRNOS else "unreadable"
        raise SkipFile(code, error.strerror or code) from error


def _read_regular(name: str, folder_fd: int, max_bytes: int) -> SourceFile:
    fd = os.open(name, _OPEN_FLAGS, dir_fd=folder_fd)
    try:
        before = os.fstat(fd)
        if not stat.S_ISREG(before.st_mode) or before.st_size > max_bytes:
            raise SkipFile("changed_while_reading", "it was replaced while it was read")
        content = os.read(fd, before.st_size)
        fields = handles.stat_fields
        if len(content) != before.st_size or fields(os.fstat(fd)) != fields(before):
            raise SkipFile("changed_while_reading", "it was changed while it was read")
        return SourceFile(handles.entry_kind(before.st_mode), content)
    finally:
        os.close(fd)
