"""Opening a file beside a store: through no link, without waiting, and only if it is ours.

Whoever may write to the folder can put a pipe, a device, a link or another user's file in
the place of one of ours. None of them is read or written.
"""

from __future__ import annotations

import errno
import os
import stat

from ..errors import StoreError, printable

_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NOT_PLAIN = {errno.ELOOP, errno.ENXIO, errno.EISDIR}
"""How a link, a pipe that nobody reads and a folder refuse to be opened."""


def open_plain(path: str | os.PathLike[str], flags: int, mode: int = 0o600) -> int:
    """Open a file for `flags`, which do not cut it; return its descriptor.

    Raises `StoreError` (`bad_store`, `foreign_owner`) as `check` does, and `OSError`.
    """
    try:
        handle = os.open(path, flags | _FLAGS, mode)
    except OSError as error:
        if error.errno in _NOT_PLAIN:
            raise _refused(path, "is not a regular file") from error
        raise
    try:
        check(path, os.fstat(handle))
    except BaseException:
        os.close(handle)
        raise
    return handle


def check(path: str | os.PathLike[str], found: os.stat_result) -> None:
    """Refuse what is not a regular file of one name that is the user's.

    Root may open anybody's file: it could read it anyway. Raises `StoreError` (`bad_store`,
    `foreign_owner`).
    """
    if not stat.S_ISREG(found.st_mode):
        raise _refused(path, "is not a regular file")
    if os.geteuid() not in (0, found.st_uid):
        raise _refused(path, "belongs to another user", "foreign_owner")
    if found.st_nlink > 1:
        raise _refused(path, "has another name elsewhere (a hard link)")


def _refused(path: str | os.PathLike[str], why: str, code: str = "bad_store") -> StoreError:
    folder, name = os.path.split(os.fspath(path))
    return StoreError(
        f"{printable(os.path.join(os.path.basename(folder), name))} {why}",
        code=code,
        hint="it was not made by this program: move it away, or copy the folder with `cp -r`",
    )
