"""Writing many files: what lies in new folders appears as a whole.

A folder that does not exist yet is made inside one staging folder at the top of the
brain, filled there with files under their final names, and moved into place by one
rename. That is atomic, and saves a rename for each file. Files of folders that exist
are replaced one by one.
"""

from __future__ import annotations

import os

from ..objects import paths
from .folders import FOLDER, Folders
from .writing import Content, create, failure, replace, temporary_name


class Bulk:
    """Writes files and keeps those of new folders back until they are published."""

    def __init__(self, root_fd: int) -> None:
        self._root_fd = root_fd
        self._there = Folders(root_fd)
        self._staging = ""
        self._staged: Folders | None = None
        self._new: set[str] = set()
        self._newest = "/"
        self._last = ("", False)

    def write(self, path: str, kind: int, content: Content) -> None:
        """Write a file, at once or into the staging folder."""
        paths.check(path)
        folder, _, name = path.rpartition("/")
        if folder != self._last[0]:
            self._last = (folder, self._is_new(folder))
        if not self._last[1]:
            replace(self._there, path, kind, content)
            return
        try:
            create(self._stage().make(folder), name, path, kind, content)
        except OSError as error:
            raise failure(path, error) from error

    def publish(self) -> None:
        """Move the new folders into place."""
        for folder in sorted(self._new):
            above, _, name = folder.rpartition("/")
            try:
                source, target = self._stage().open(above), self._there.open(above)
                os.rename(name, name, src_dir_fd=source, dst_dir_fd=target)
            except OSError as error:
                raise failure(folder, error) from error

    def close(self) -> None:
        """Remove the staging folder, with all that was not published."""
        self._there.close()
        if self._staged is not None:
            from shutil import rmtree

            self._staged.close()
            os.close(self._staged.root_fd)
            rmtree(self._staging, ignore_errors=True, dir_fd=self._root_fd)

    def _is_new(self, folder: str) -> bool:
        """Tell whether `folder` is to be staged, and note the topmost one that is missing."""
        if folder.startswith(self._newest):
            return True
        try:
            missing = self._there.missing(folder)
        except OSError as error:
            raise failure(folder, error) from error
        if missing:
            self._new.add(missing)
            self._newest = missing + "/"
        return bool(missing)

    def _stage(self) -> Folders:
        if self._staged is None:
            self._staging = temporary_name()
            os.mkdir(self._staging, 0o700, dir_fd=self._root_fd)
            self._staged = Folders(os.open(self._staging, FOLDER, dir_fd=self._root_fd))
        return self._staged
