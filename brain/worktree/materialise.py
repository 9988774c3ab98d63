"""Bringing the folder to what a bundle says: files written and removed.

Each file is replaced atomically; what lies in new folders appears as a whole. No link
is followed, and nothing outside the brain, or of version control itself, is touched.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from contextlib import suppress

from ..objects import paths
from .bulk import Bulk
from .folders import Folders, Root, opened
from .writing import Content, failure, replace

Item = tuple[str, int, Content]
"""A path, a kind, and the content."""
Progress = Callable[[str, int, int], None]

_STEP = 1024


def write_file(root: Root, path: str, kind: int, content: Content) -> None:
    """Put a file or link at `path`, making the folders it needs.

    What was there, read-only or a link, is replaced; a link is not followed. The mode is
    0644, or 0755 for an executable, less the umask. Raises `InvalidInput`
    (`unsafe_path`, `link_outside`, and what `paths.check` raises), `Conflict`
    (`path_conflict`) if a folder with something in it is in the way, and `BrainError`
    (`unwritable`).
    """
    paths.check(path)
    with opened(root) as root_fd:
        folders = Folders(root_fd)
        try:
            replace(folders, path, kind, content)
        finally:
            folders.close()


def write_many(root: Root, items: Iterable[Item], progress: Progress | None = None) -> None:
    """As `write_file` for each of `items`, which have different paths.

    Any order will do; that of the paths is the fastest. On an error, files of folders
    that existed may have been written, and those of new folders have not.
    """
    with opened(root) as root_fd:
        bulk = Bulk(root_fd)
        try:
            for number, item in enumerate(items, 1):
                bulk.write(*item)
                if progress and not number % _STEP:
                    progress("writing", number, 0)
            bulk.publish()
        finally:
            bulk.close()


def remove_file(root: Root, path: str) -> None:
    """Remove the file or link at `path`, then the folders that it leaves empty.

    Top-level folders stay. That nothing is there is no error. Raises `InvalidInput`
    (`unsafe_path`), `Conflict` (`path_conflict`) if there is a folder, and `BrainError`
    (`unwritable`).
    """
    paths.check(path)
    folder, _, name = path.rpartition("/")
    with opened(root) as root_fd:
        folders = Folders(root_fd)
        try:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folders.open(folder))
            _remove_empty(folders, folder)
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:  # where no such name can be, there is none
                raise failure(path, error) from error
        finally:
            folders.close()


def _remove_empty(folders: Folders, folder: str) -> None:
    while "/" in folder:
        folder, _, name = folder.rpartition("/")
        try:
            os.rmdir(name, dir_fd=folders.open(folder))
        except FileNotFoundError:
            continue
        except OSError:  # not empty, or not ours to remove
            return
