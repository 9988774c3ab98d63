"""The watching backend on Linux: inotify, by its three system calls (man 7 inotify).

Each folder has a watch, except ignored folders and those behind links. Waiting takes no
processor time. The backend notices an overflow of the system's queue, and which files are
still open for writing; libraries for many systems hide both.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import stat
import struct
import time
from collections.abc import Iterator
from pathlib import Path

from ..errors import BrainError, InvalidInput, NoBrain
from ..folder.ignore import IGNORE_FILE_NAME, IgnoreRules
from .change_events import ObservedChanges

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_UNMOUNT, _OVERFLOW, _IGNORED, _IS_FOLDER = 0x2000, 0x4000, 0x8000, 0x40000000
_ONLY_FOLDERS, _NO_LINKS, _NOT_UNLINKED = 0x1000000, 0x2000000, 0x4000000
_EVENT_MASK = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
_FOLDER_FLAGS = _ONLY_FOLDERS | _NO_LINKS | _NOT_UNLINKED
_ROOT_EVENTS = _DELETE_SELF | _MOVE_SELF

_EVENT_HEADER = struct.Struct("iIII")
_BUFFER_BYTES = 1 << 16
_BATCH_SECONDS = 0.02
"""Seconds to wait for further events of one change before the events are read."""


class InotifyBackend:
    """The `WatchBackend` of Linux."""

    def __init__(self, root: Path, rules: IgnoreRules) -> None:
        self._root = root
        self._rules = rules
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise _cannot_watch_error(ctypes.get_errno())
        self._wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)
        self._poll.register(self._wake_fd, select.POLLIN)
        self._folders: dict[int, str] = {}
        self._open_files: set[str] = set()
        try:
            self._add_watches("", _ROOT_EVENTS)
        except BaseException:
            self.close()
            raise

    def wait(self, seconds: float | None) -> ObservedChanges:
        """See `WatchBackend.wait`."""
        ready = self._poll.poll(None if seconds is None else seconds * 1000)
        if any(fd == self._wake_fd for fd, _ in ready):
            os.eventfd_read(self._wake_fd)
        if not any(fd == self._fd for fd, _ in ready):
            return ObservedChanges(open_files=frozenset(self._open_files))
        time.sleep(_BATCH_SECONDS)
        return self._read_changes()

    def wake(self) -> None:
        """See `WatchBackend.wake`."""
        os.eventfd_write(self._wake_fd, 1)

    def close(self) -> None:
        """Stop watching."""
        os.close(self._fd)
        os.close(self._wake_fd)

    def _read_changes(self) -> ObservedChanges:
        changed: set[str] = set()
        everything = False
        for watch, mask, name in self._read_events():
            if mask & _OVERFLOW:
                everything = True
                self._open_files.clear()
                self._add_watches("", _ROOT_EVENTS)
            elif mask & _IGNORED:
                self._folders.pop(watch, None)
            elif watch in self._folders:
                path = self._process_event(self._folders[watch], mask, name)
                everything |= path == IGNORE_FILE_NAME
                changed |= {path} - {""}
        return ObservedChanges(frozenset(changed), everything, frozenset(self._open_files))

    def _process_event(self, folder: str, mask: int, name: str) -> str:
        """Return the path that an event is about, "" if a brain does not hold it."""
        if not name:
            if not folder and mask & (_ROOT_EVENTS | _UNMOUNT):
                raise NoBrain(
                    f"the brain is gone from {self._root}",
                    hint="if the folder was moved, start `brain watch` there",
                )
            return ""
        path = f"{folder}/{name}" if folder else name
        is_folder = bool(mask & _IS_FOLDER)
        if self._rules.is_ignored(path, name, is_folder):
            return ""
        if is_folder:
            if mask & (_CREATE | _MOVED_TO):
                self._add_watches(path)
        elif mask & _MODIFY or (mask & _CREATE and self._is_empty(path)):
            self._open_files.add(path)
        elif mask & (_CLOSE_WRITE | _DELETE | _MOVED_FROM):
            self._open_files.discard(path)
        if path == IGNORE_FILE_NAME:
            self._reload_rules()
        return path

    def _is_empty(self, path: str) -> bool:
        """Tell whether a new file has yet to be written, of which no event says anything."""
        try:
            st = os.lstat(os.path.join(self._root, path))
        except OSError:
            return False
        return stat.S_ISREG(st.st_mode) and st.st_size == 0

    def _read_events(self) -> Iterator[tuple[int, int, str]]:
        """Yield (watch descriptor, event mask, name) of the queued events."""
        while True:
            try:
                data = os.read(self._fd, _BUFFER_BYTES)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                watch, mask, _, length = _EVENT_HEADER.unpack_from(data, at)
                at += _EVENT_HEADER.size + length
                yield watch, mask, os.fsdecode(data[at - length : at].rstrip(b"\0"))

    def _reload_rules(self) -> None:
        """Follow a changed `.brainignore`; recording reports one that is wrong."""
        try:
            self._rules = IgnoreRules.load(self._root)
        except InvalidInput:
            return
        self._add_watches("", _ROOT_EVENTS)

    def _add_watches(self, folder: str, extra_mask: int = 0) -> None:
        """Watch a folder and its subfolders; one that is watched already gets its new path."""
        waiting = [folder]
        while waiting:
            path = waiting.pop()
            absolute_path = os.path.join(self._root, path)
            watch = self._libc.inotify_add_watch(
                self._fd,
                os.fsencode(absolute_path),
                _EVENT_MASK | _FOLDER_FLAGS * bool(path) | extra_mask,
            )
            if watch < 0:
                _raise_unless_inaccessible(ctypes.get_errno())
                continue
            extra_mask = 0
            self._folders[watch] = path
            waiting += self._list_subfolders(path, absolute_path)

    def _list_subfolders(self, path: str, absolute_path: str) -> list[str]:
        try:
            with os.scandir(absolute_path) as entries:
                names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError as error:
            _raise_unless_inaccessible(error.errno or 0)
            return []
        paths = [(f"{path}/{name}" if path else name, name) for name in names]
        return [inner for inner, name in paths if not self._rules.is_ignored(inner, name, True)]


def _raise_unless_inaccessible(number: int) -> None:
    """Ignore a folder that is gone or not accessible, which the scan reports itself."""
    if number not in (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP):
        raise _cannot_watch_error(number)


def _cannot_watch_error(number: int) -> BrainError:
    hint = ""
    if number == errno.ENOSPC:
        hint = "let the system watch more folders: raise fs.inotify.max_user_watches"
    elif number == errno.EMFILE:
        hint = "end other watchers, or raise fs.inotify.max_user_instances"
    return BrainError(
        f"the system cannot watch the folder: {os.strerror(number)}",
        code="cannot_watch",
        hint=hint,
    )
