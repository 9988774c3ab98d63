"""Safety checks on the files of a store: regular, owned by the user, and not replaced.

A program with write access to the folder can replace a file by a pipe, a device, a link or the
file of another user, which are neither read nor written. A file that is removed or replaced
while it is open still accepts writes, but loses them when it is closed.
"""

from __future__ import annotations

import errno
import os
import stat

from ..errors import StoreError, printable_text

_OPEN_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NOT_REGULAR_ERRNOS = {errno.ELOOP, errno.ENXIO, errno.EISDIR}
"""The errors of opening a link, a pipe without a reader, or a folder."""


def open_regular_file(path: str | os.PathLike[str], flags: int, mode: int = 0o600) -> int:
    """Open a regular file and return its descriptor; `flags` must not truncate it.

    Raises `StoreError` as `check_regular_file`, and `OSError`.
    """
    try:
        handle = os.open(path, flags | _OPEN_FLAGS, mode)
    except OSError as error:
        if error.errno in _NOT_REGULAR_ERRNOS:
            raise _unsafe_file_error(path, "is not a regular file") from error
        raise
    try:
        check_regular_file(path, os.fstat(handle))
    except BaseException:
        os.close(handle)
        raise
    return handle


def check_regular_file(path: str | os.PathLike[str], st: os.stat_result) -> None:
    """Check that this is a regular file with one name that belongs to the user.

    Root may open the files of others. Raises `StoreError` (`bad_store`, `foreign_owner`).
    """
    if not stat.S_ISREG(st.st_mode):
        raise _unsafe_file_error(path, "is not a regular file")
    if os.geteuid() not in (0, st.st_uid):
        raise _unsafe_file_error(
            path, "belongs to another user", "foreign_owner", "let its owner run this"
        )
    if st.st_nlink > 1:
        raise _unsafe_file_error(path, "has another name elsewhere (a hard link)")


def copy_owner(handle: int, folder: str | os.PathLike[str]) -> None:
    """Give a file that root creates the owner of its folder."""
    if os.geteuid() == 0:
        owner = os.stat(folder)
        os.fchown(handle, owner.st_uid, owner.st_gid)


def _unsafe_file_error(
    path: str | os.PathLike[str],
    why: str,
    code: str = "bad_store",
    way_out: str = "it was not made by this program: move it away",
) -> StoreError:
    folder, name = os.path.split(os.fspath(path))
    return StoreError(
        f"{printable_text(os.path.join(os.path.basename(folder), name))} {why}",
        code=code,
        hint=f"{way_out}, or copy the folder with `cp -r`",
    )


_DATABASE_SUFFIXES = ("", "-wal", "-shm")


class FileIdentities:
    """Remembers the files of the database at `path`, or of none; opens no file."""

    def __init__(self, path: str = "") -> None:
        self._paths = [path + side for side in _DATABASE_SUFFIXES] if path else []
        self._identities: dict[str, tuple[int, int]] = {}

    def remember(self) -> None:
        """Remember the existing files, which the database has open; then check the others."""
        for file in self._paths:
            if file not in self._identities and (identity := _file_identity(file)):
                self._identities[file] = identity
        self.check_unchanged()

    def check_unchanged(self) -> None:
        """Raise `StoreError` (`store_replaced`) if one of them was removed or replaced."""
        for file, known in self._identities.items():
            if _file_identity(file) != known:
                raise StoreError(
                    f"{os.path.basename(file)} was removed or replaced while it was open",
                    code="store_replaced",
                    hint="this change was not recorded; restart this program, and run"
                    " `brain verify`",
                )

    def forget_wal(self) -> None:
        """Forget the log, which the database will no longer use."""
        for file in self._paths[1:]:
            self._identities.pop(file, None)


def _file_identity(file: str) -> tuple[int, int] | None:
    try:
        st = os.lstat(file)
    except FileNotFoundError:
        return None
    return st.st_dev, st.st_ino
