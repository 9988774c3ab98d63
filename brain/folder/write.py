"""Check out files: write and remove them; new folders appear by one rename.

A new folder is created in a staging folder at the top of the brain, filled with files under
their final names, and moved into place by one rename. That is atomic, and saves a rename for
each file. Files in existing folders are written beside the old ones, some at a time, and then
replace these one by one, each atomically. No link is
followed, and nothing outside the brain, or of version control itself, is changed.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress

from ..errors import BrainError, Conflict, InvalidInput
from ..objects import paths
from ..objects.paths import TEMPORARY_PREFIX
from ..objects.tree_node import EXECUTABLE, LINK
from ..util.progress import Progress
from ..util.text import lazy_pattern
from . import handles
from .handles import (
    OPEN_FOLDER_FLAGS,
    FolderHandles,
    RootPath,
    open_folders,
    open_root,
    unsafe_path_error,
    unwritable_error,
)

WriteContent = bytes | Iterator[bytes]
"""The content as a whole or in pieces; for a link, its text."""


_MAX_WAITING, _MAX_WAITING_BYTES = 4096, 64 << 20
"""The most files, and about as many bytes, that wait for their names."""


class StagedWriter:
    """Writes files, those of new folders into a staging folder until they are published.

    `fingerprints`, if it is given, gets those of what was published. A scan may trust that of a
    file in a new folder whose last change was over, by a tick of the file system's clock, before
    anybody could see it: a later change gives it another ctime. All others get a fingerprint that
    no file has, so that the next scan reads them: a rename changes the ctime, so who then edits a
    file and sets its time back at once leaves no trace.
    """

    def __init__(self, root_fd: int, fingerprints: dict[str, bytes] | None = None) -> None:
        self._root_fd = root_fd
        self._existing_folders = FolderHandles(root_fd)
        self._staging_name = ""
        self._staging_handles: FolderHandles | None = None
        self._new_folders: set[str] = set()
        self._last_new_prefix = "/"
        self._last_folder = ("", False)
        self._staged: list[str] = []
        self._waiting: deque[tuple[str, str]] = deque()
        self._waiting_bytes = 0
        self._fingerprints = fingerprints

    def write(self, path: str, kind: int, content: WriteContent) -> None:
        """Write a file of a checked path, under another name or into the staging folder."""
        folder, _, name = path.rpartition("/")
        if folder != self._last_folder[0]:
            self._last_folder = (folder, self._needs_staging(folder))
        try:
            if self._last_folder[1]:
                create_file(self._open_staging().open(folder, make=True), name, path, kind, content)
                self._staged.append(path)
                return
            temporary = temporary_name()
            self._waiting.append((path, temporary))
            folder_fd = self._existing_folders.open(folder, make=True)
            permissions = _permissions_in_place(folder_fd, name, kind)
            create_file(folder_fd, temporary, path, kind, content, permissions)
        except OSError as error:
            raise write_error(path, error) from error
        self._waiting_bytes += len(content) if isinstance(content, bytes) else _MAX_WAITING_BYTES
        if len(self._waiting) >= _MAX_WAITING or self._waiting_bytes >= _MAX_WAITING_BYTES:
            self._rename_waiting()

    def _rename_waiting(self) -> None:
        self._waiting_bytes = 0
        while self._waiting:
            path, temporary = self._waiting[0]
            folder, _, name = path.rpartition("/")
            try:
                _rename(self._existing_folders.open(folder), temporary, name)
            except OSError as error:
                raise write_error(path, error) from error
            if self._fingerprints is not None:
                self._fingerprints[path] = handles.UNREAD_FILE
            self._waiting.popleft()

    def publish(self) -> None:
        """Give the files that wait their names, and move the new folders into place."""
        if self._waiting:
            self._rename_waiting()
        moment = 0
        if self._staged and self._fingerprints is not None:
            last = os.lstat(self._staged[-1], dir_fd=self._open_staging().root_fd)
            moment = last.st_mtime_ns
        for folder in sorted(self._new_folders):
            above, _, name = folder.rpartition("/")
            try:
                source = self._open_staging().open(above)
                target = self._existing_folders.open(above)
                os.rename(name, name, src_dir_fd=source, dst_dir_fd=target)
            except OSError as error:
                raise write_error(folder, error) from error
        if moment:
            self._note_staged(moment)

    def _note_staged(self, moment: int) -> None:
        """Note the files of new folders and the folders below these: their ctime is their own."""
        assert self._fingerprints is not None
        out, seen = self._fingerprints, {""}
        for folder in self._new_folders:
            seen.update((folder, *paths.folders_above(folder)))
            out[folder] = handles.UNREAD_FOLDER
        for staged in self._staged:
            path = staged
            while path not in seen:
                seen.add(path)
                try:
                    found = handles.fingerprint_of(os.lstat(path, dir_fd=self._root_fd))
                except OSError:  # it is gone already
                    found = handles.UNREAD_FILE
                if handles.is_racy(found, moment):
                    found = handles.unmatchable_fingerprint(found)
                out[path] = found
                path = path.rpartition("/")[0]

    def close(self) -> None:
        """Remove the staging folder, with all unpublished files."""
        for path, temporary in self._waiting:
            with suppress(OSError, BrainError):
                folder_fd = self._existing_folders.open(path.rpartition("/")[0])
                os.unlink(temporary, dir_fd=folder_fd)
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


def write_working_files(
    root: RootPath,
    items: Iterable[FileItem],
    progress: Progress | None = None,
    fingerprints: dict[str, bytes] | None = None,
) -> None:
    """Write files and links at different paths, and create missing folders.

    `fingerprints` gets those of what was written, as of a `StagedWriter`.


    The order of paths is the fastest. A file or link that is there, even if read-only, is
    replaced. A file in place of a file keeps its permissions; those of others are 0644, or 0755
    for an executable, less the umask. After an error, files in existing folders may have been
    written, but none in new folders. Raises `InvalidInput` (`unsafe_path`, `link_outside`, and as
    `paths.check_path`), `Conflict` (`path_conflict`) if a folder that is not empty is at a path,
    and `BrainError` (`unwritable`).
    """
    with open_root(root) as root_fd:
        bulk = StagedWriter(root_fd, fingerprints)
        try:
            for number, item in enumerate(items, 1):
                paths.check_path(item[0])
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
            while "/" in folder:
                folder, _, name = folder.rpartition("/")
                try:
                    os.rmdir(name, dir_fd=folders.open(folder))
                except FileNotFoundError:
                    continue
                except OSError:  # not empty, or not ours to remove
                    break
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:  # such a file cannot exist
                raise write_error(path, error) from error


_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def replace_file(folders: FolderHandles, path: str, kind: int, content: WriteContent) -> None:
    """Write a file or link at `path`, a checked path, in place of any file or link there.

    A file in place of a file keeps its permissions, except that `kind` decides whether it can
    be executed. Raises `BrainError` as `write_error`, and `InvalidInput` (`link_outside`).
    """
    with closing(StagedWriter(folders.root_fd)) as writer:
        writer.write(path, kind, content)
        writer.publish()


def create_file(
    folder_fd: int,
    name: str,
    path: str,
    kind: int,
    content: WriteContent,
    permissions: int | None = None,
) -> None:
    """Write a new file or link called `name`; `path` is its final path.

    Without `permissions` they are those of any new file, by the umask.
    """
    if kind == LINK:
        text = content if isinstance(content, bytes) else b"".join(content)
        handles.check_link_inside(path, text)
        os.symlink(text, name, dir_fd=folder_fd)
        return
    usual = 0o755 if kind == EXECUTABLE else 0o644
    mode = usual if permissions is None else permissions
    fd = os.open(name, _CREATE_FLAGS, mode, dir_fd=folder_fd)
    try:
        if permissions is not None and stat.S_IMODE(os.fstat(fd).st_mode) != permissions:
            with suppress(PermissionError):  # a file system without permissions
                os.fchmod(fd, permissions)
        if isinstance(content, bytes):
            write_all(fd, content)
        else:
            for piece in content:
                write_all(fd, piece)
    finally:
        os.close(fd)


def write_all(fd: int, content: bytes) -> None:
    """Write all of `content`; a single write may be partial."""
    written = os.write(fd, content)
    while written < len(content):
        written += os.write(fd, memoryview(content)[written:])


def _permissions_in_place(folder_fd: int, name: str, kind: int) -> int | None:
    """Return the permissions for a file that takes the place of `name`, None if no file is there.

    The owner can always read it, since the brain has to.
    """
    try:
        mode = os.lstat(name, dir_fd=folder_fd).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        return None
    readable = mode & 0o666 | stat.S_IRUSR
    if kind != EXECUTABLE:
        return readable
    return readable | (mode & 0o111 or (readable & 0o444) >> 2) | stat.S_IXUSR


def temporary_name() -> str:
    """Return a new name."""
    return TEMPORARY_PREFIX + os.urandom(8).hex()


def write_error(path: str, error: OSError) -> BrainError:
    """Return the error for a path that could not be written or removed."""
    if error.errno in (errno.EISDIR, errno.ENOTEMPTY, errno.EEXIST):
        return Conflict(
            f"{path} is a folder that is not empty, where a file is to be",
            code="path_conflict",
            hint="move the folder away",
        )
    if error.errno == errno.ENOTDIR:
        return unsafe_path_error(path)
    return unwritable_error(path, error)


def _rename(folder_fd: int, temporary: str, name: str) -> None:
    try:
        os.replace(temporary, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
    except IsADirectoryError:
        os.rmdir(name, dir_fd=folder_fd)
        os.replace(temporary, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)


_TEMPORARY_NAME = lazy_pattern(re.escape(TEMPORARY_PREFIX) + "[0-9a-f]{16,24}")


def remove_temporary_files(root: RootPath, paths: Iterable[str] = ()) -> None:
    """Remove the temporary files and folders of a writer of `paths`, as far as possible.

    They are in the folders of those paths, at the top, and in `.brain`. Call it only while no
    other writer can run.
    """
    from shutil import rmtree

    above = {path.rpartition("/")[0] for path in paths}
    with open_folders(root) as folders:
        for folder in sorted({"", ".brain", *above}):
            with suppress(OSError, InvalidInput):  # a missing folder or a link has none
                folder_fd = folders.open(folder)
                for name in filter(_TEMPORARY_NAME().fullmatch, os.listdir(folder_fd)):
                    try:
                        os.unlink(name, dir_fd=folder_fd)
                    except IsADirectoryError:
                        rmtree(name, ignore_errors=True, dir_fd=folder_fd)
