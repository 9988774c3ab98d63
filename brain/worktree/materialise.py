"""Writing files: atomic each, through no link, never outside the brain.

A file is written under a temporary name in its own folder and renamed into place, so
that it is there as it was or as it shall be. Nothing is synced to the disk: the store
holds what matters, and what a power cut takes from the folder shows as a change.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from ..errors import Conflict, InvalidInput, printable
from ..objects import paths
from ..objects.entry import EXECUTABLE, LINK
from . import links
from .defaults import TEMPORARY, is_reserved
from .folders import Folders, Root, opened, unwritable, write_all

Content = bytes | Iterator[bytes]
Item = tuple[str, int, Content]
"""A path, a kind, and the content: at once, in pieces, or the text of a link."""

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_file(root: Root, path: str, kind: int, content: Content) -> None:
    """Put a file or link at `path`, making the folders it needs.

    What was there, read-only or a link, is replaced; a link is not followed. The mode is
    0644, or 0755 for an executable, less the umask. Raises `InvalidInput`
    (`unsafe_path`, `link_outside`, and what `paths.check` raises), `Conflict`
    (`path_conflict`) if a folder with something in it is in the way, and `BrainError`
    (`unwritable`).
    """
    write_many(root, [(path, kind, content)])


def write_many(
    root: Root, items: Iterable[Item], progress: Callable[[str, int, int], None] | None = None
) -> None:
    """As `write_file` for each of `items`; fastest in the order of paths."""
    with opened(root) as root_fd:
        folders = Folders(root_fd)
        try:
            for path, kind, content in items:
                _write(folders, path, kind, content)
        finally:
            folders.close()


def remove_file(root: Root, path: str) -> None:
    """Remove the file or link at `path`, then the folders that it leaves empty.

    Top-level folders stay, and so does whatever is not there. Raises `InvalidInput`
    (`unsafe_path`), `Conflict` (`path_conflict`) if there is a folder, and `BrainError`
    (`unwritable`).
    """
    check_writable(path)
    folder, _, name = path.rpartition("/")
    with opened(root) as root_fd:
        folders = Folders(root_fd)
        try:
            os.unlink(name, dir_fd=folders.open(folder))
            _remove_empty(folders, folder)
        except FileNotFoundError:
            return
        except IsADirectoryError as error:
            raise _in_the_way(path) from error
        except OSError as error:
            raise unwritable(path, error) from error
        finally:
            folders.close()


def check_writable(path: str) -> None:
    """Refuse a path outside the brain, or one that is version control's own.

    Raises `InvalidInput` (`unsafe_path`, and what `paths.check` raises).
    """
    if any(is_reserved(part) for part in paths.check(path).split("/")):
        raise InvalidInput(f"reserved name in a path: {printable(path)}", code="unsafe_path")


def _remove_empty(folders: Folders, folder: str) -> None:
    while "/" in folder:
        above, _, name = folder.rpartition("/")
        try:
            os.rmdir(name, dir_fd=folders.open(above))
        except OSError:  # not empty, or not ours to remove
            return
        folder = above


def _write(folders: Folders, path: str, kind: int, content: Content) -> None:
    check_writable(path)
    folder, _, name = path.rpartition("/")
    temporary = TEMPORARY + secrets.token_hex(8)
    try:
        folder_fd = folders.make(folder)
        try:
            create(folder_fd, temporary, path, kind, content)
            _rename(folder_fd, temporary, name)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder_fd)
            raise
    except IsADirectoryError as error:
        raise _in_the_way(path) from error
    except OSError as error:
        raise unwritable(path, error) from error


def create(folder_fd: int, name: str, path: str, kind: int, content: Content) -> None:
    """Write a new file or link called `name`; `path` is where it will end up."""
    if kind == LINK:
        text = content if isinstance(content, bytes) else b"".join(content)
        os.symlink(_target(path, text), name, dir_fd=folder_fd)
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


def _rename(folder_fd: int, temporary: str, name: str) -> None:
    try:
        os.replace(temporary, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
    except IsADirectoryError:
        try:
            os.rmdir(name, dir_fd=folder_fd)
        except OSError as error:
            raise IsADirectoryError(errno.EISDIR, "a folder with something in it") from error
        os.replace(temporary, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)


def _target(path: str, text: bytes) -> bytes:
    links.encode_target(path, text.decode("utf-8", "surrogateescape"))
    return text


def _in_the_way(path: str) -> Conflict:
    return Conflict(
        f"a folder with something in it is in the way of the file {printable(path)}",
        code="path_conflict",
        hint="move the folder away",
    )
