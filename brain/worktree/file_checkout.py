"""Check out files: write and remove them; new folders appear by one rename.

A new folder is created in a staging folder at the top of the brain, filled with files under
their final names, and moved into place by one rename. That is atomic, and saves a rename for
each file. Files in existing folders are replaced one by one, each atomically. No link is
followed, and nothing outside the brain, or of version control itself, is changed.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from contextlib import suppress

from ..objects import paths
from ..util.progress import Progress
from .dirfd import OPEN_FOLDER_FLAGS, FolderHandles, RootPath, open_folders, open_root
from .file_writer import WriteContent, create_file, replace_file, temporary_name, write_error


class StagedWriter:
    """Writes files, those of new folders into a staging folder until they are published."""

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
                source = self._open_staging().open(above)
                target = self._existing_folders.open(above)
                os.rename(name, name, src_dir_fd=source, dst_dir_fd=target)
            except OSError as error:
                raise write_error(folder, error) from error

    def close(self) -> None:
        """Remove the staging folder, with all unpublished files."""
        self._existing_folders.close()
        if self._staging_handles is not None:
            from shutil import rmtree

            self._staging_handles.close()
            os.close(self._staging_handles.root_fd)
            rmtree(self._staging_name, ignore_errors=True, dir_fd=self._root_fd)

    def _needs_staging(self, folder: str) -> bool:
        """Tell whether `folder` is staged, and record the topmost missing folder."""
        if folder.startswith(self._last_new_prefix):
            return True
        missing = self._existing_folders.find_missing_folder(folder)
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
"""Path, kind and content."""

_PROGRESS_INTERVAL = 1024


def write_working_file(root: RootPath, path: str, kind: int, content: WriteContent) -> None:
    """Write a file or link at `path`, and create missing folders.

    A file or link at `path`, even if read-only, is replaced. A file in place of a file keeps its
    permissions; those of others are 0644, or 0755 for an executable, less the umask. Raises
    `InvalidInput` (`unsafe_path`, `link_outside`, and as `paths.check_path`), `Conflict`
    (`path_conflict`) if a folder that is not empty is at `path`, and `BrainError` (`unwritable`).
    """
    paths.check_path(path)
    with open_folders(root) as folders:
        replace_file(folders, path, kind, content)


def write_working_files(
    root: RootPath, items: Iterable[FileItem], progress: Progress | None = None
) -> None:
    """As `write_working_file` for each of `items`, which have different paths.

    The order of paths is the fastest. After an error, files in existing folders may have been
    written, but none in new folders.
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
    """Remove the file or link at `path`, if any, then empty folders above it.

    Top-level folders stay. Raises `InvalidInput` (`unsafe_path`), `Conflict` (`path_conflict`)
    if `path` is a folder, and `BrainError` (`unwritable`).
    """
    paths.check_path(path)
    folder, _, name = path.rpartition("/")
    with open_folders(root) as folders:
        try:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folders.open(folder))
            _remove_empty_parents(folders, folder)
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:  # such a file cannot exist
                raise write_error(path, error) from error


def _remove_empty_parents(folders: FolderHandles, folder: str) -> None:
    while "/" in folder:
        folder, _, name = folder.rpartition("/")
        try:
            os.rmdir(name, dir_fd=folders.open(folder))
        except FileNotFoundError:
            continue
        except OSError:  # not empty, or not ours to remove
            return
