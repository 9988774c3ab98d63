"""Check out files: write and remove them as a bundle says; new folders appear by one rename.

A folder that does not exist yet is made inside one staging folder at the top of the
brain, filled there with files under their final names, and moved into place by one
rename. That is atomic, and saves a rename for each file. Files of folders that exist
are replaced one by one.

Each file is replaced atomically; what lies in new folders appears as a whole. No link
is followed, and nothing outside the brain, or of version control itself, is touched.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from contextlib import suppress

from ..objects import paths
from ..util.progress import Progress
from .dirfd import OPEN_FOLDER_FLAGS, FolderHandles, RootPath, open_root
from .file_writer import WriteContent, create_file, replace_file, temporary_name, write_error


class StagedWriter:
    """Writes files and keeps those of new folders back until they are published."""

    def __init__(self, root_fd: int) -> None:
        self._root_fd = root_fd
        self._existing_folders = FolderHandles(root_fd)
        self._staging_name = ""
        self._staging_handles: FolderHandles | None = None
        self._new_folders: set[str] = set()
        self._last_new_prefix = "/"
        self._last_folder = ("", False)

    def write(self, path: str, kind: int, content: WriteContent) -> None:
        """Write a file, at once or into the staging folder."""
        paths.check_path(path)
        folder, _, name = path.rpartition("/")
        if folder != self._last_folder[0]:
            self._last_folder = (folder, self._needs_staging(folder))
        if not self._last_folder[1]:
            replace_file(self._existing_folders, path, kind, content)
            return
        try:
            create_file(self._open_staging().open_or_make(folder), name, path, kind, content)
        except OSError as error:
            raise write_error(path, error) from error

    def publish(self) -> None:
        """Move the new folders into place."""
        for folder in sorted(self._new_folders):
            above, _, name = folder.rpartition("/")
            try:
                source, target = (
                    self._open_staging().open(above),
                    self._existing_folders.open(above),
                )
                os.rename(name, name, src_dir_fd=source, dst_dir_fd=target)
            except OSError as error:
                raise write_error(folder, error) from error

    def close(self) -> None:
        """Remove the staging folder, with all that was not published."""
        self._existing_folders.close()
        if self._staging_handles is not None:
            from shutil import rmtree

            self._staging_handles.close()
            os.close(self._staging_handles.root_fd)
            rmtree(self._staging_name, ignore_errors=True, dir_fd=self._root_fd)

    def _needs_staging(self, folder: str) -> bool:
        """Tell whether `folder` is to be staged, and note the topmost one that is missing."""
        if folder.startswith(self._last_new_prefix):
            return True
        try:
            missing = self._existing_folders.find_missing_folder(folder)
        except OSError as error:
            raise write_error(folder, error) from error
        if missing:
            self._new_folders.add(missing)
            self._last_new_prefix = missing + "/"
        return bool(missing)

    def _open_staging(self) -> FolderHandles:
        if self._staging_handles is None:
            self._staging_name = temporary_name()
            os.mkdir(self._staging_name, 0o700, dir_fd=self._root_fd)
            self._staging_handles = FolderHandles(
                os.open(self._staging_name, OPEN_FOLDER_FLAGS, dir_fd=self._root_fd)
            )
        return self._staging_handles


FileItem = tuple[str, int, WriteContent]
"""A path, a kind, and the content."""

_PROGRESS_INTERVAL = 1024


def write_working_file(root: RootPath, path: str, kind: int, content: WriteContent) -> None:
    """Put a file or link at `path`, making the folders it needs.

    What was there, read-only or a link, is replaced; a link is not followed. The mode is
    0644, or 0755 for an executable, less the umask. Raises `InvalidInput`
    (`unsafe_path`, `link_outside`, and what `paths.check` raises), `Conflict`
    (`path_conflict`) if a folder with something in it is in the way, and `BrainError`
    (`unwritable`).
    """
    paths.check_path(path)
    with open_root(root) as root_fd:
        folders = FolderHandles(root_fd)
        try:
            replace_file(folders, path, kind, content)
        finally:
            folders.close()


def write_working_files(
    root: RootPath, items: Iterable[FileItem], progress: Progress | None = None
) -> None:
    """As `write_file` for each of `items`, which have different paths.

    Any order will do; that of the paths is the fastest. On an error, files of folders
    that existed may have been written, and those of new folders have not.
    """
    with open_root(root) as root_fd:
        bulk = StagedWriter(root_fd)
        try:
            for number, item in enumerate(items, 1):
                bulk.write(*item)
                if progress and not number % _PROGRESS_INTERVAL:
                    progress("writing", number, 0)
            bulk.publish()
        finally:
            bulk.close()


def remove_working_file(root: RootPath, path: str) -> None:
    """Remove the file or link at `path`, then the folders that it leaves empty.

    Top-level folders stay. That nothing is there is no error. Raises `InvalidInput`
    (`unsafe_path`), `Conflict` (`path_conflict`) if there is a folder, and `BrainError`
    (`unwritable`).
    """
    paths.check_path(path)
    folder, _, name = path.rpartition("/")
    with open_root(root) as root_fd:
        folders = FolderHandles(root_fd)
        try:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folders.open(folder))
            _remove_empty_parents(folders, folder)
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:  # where no such name can be, there is none
                raise write_error(path, error) from error
        finally:
            folders.close()


def _remove_empty_parents(folders: FolderHandles, folder: str) -> None:
    while "/" in folder:
        folder, _, name = folder.rpartition("/")
        try:
            os.rmdir(name, dir_fd=folders.open(folder))
        except FileNotFoundError:
            continue
        except OSError:  # not empty, or not ours to remove
            return
