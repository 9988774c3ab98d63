"""Watching on Linux: inotify, asked by its three system calls (man 7 inotify).

One watch a folder, and none for folders that are left out or behind links. Waiting costs
nothing, an overflow of the system's queue is noticed, and so is which file was written to
and not closed yet. Libraries that watch on many systems hide the last two.
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

from ..errors import BrainError, InvalidInput, NoBrain, printable
from ..worktree.ignore import NAME, IgnoreRules
from .events import Seen

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_UNMOUNT, _OVERFLOW, _IGNORED, _IS_FOLDER = 0x2000, 0x4000, 0x8000, 0x40000000
_ONLY_FOLDERS, _NO_LINKS, _NOT_UNLINKED = 0x1000000, 0x2000000, 0x4000000
_WANTED = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
_HOW = _ONLY_FOLDERS | _NO_LINKS | _NOT_UNLINKED
_ROOT = _DELETE_SELF | _MOVE_SELF

_HEAD = struct.Struct("iIII")
_BUFFER = 1 << 16
_GATHER = 0.02
"""Seconds in which what belongs together comes in, before it is read."""


class Inotify:
    """An `Events` of Linux; see there."""

    def __init__(self, root: Path, rules: IgnoreRules) -> None:
        self._root = root
        self._rules = rules
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise _refused(ctypes.get_errno())
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)
        self._poll.register(self._wake, select.POLLIN)
        self._folders: dict[int, str] = {}
        self._open: set[str] = set()
        try:
            self._add("", _ROOT)
        except BaseException:
            self.close()
            raise

    def wait(self, seconds: float | None) -> Seen:
        """Return what changed, as soon as something does; nothing after `seconds` or `wake`."""
        ready = self._poll.poll(None if seconds is None else seconds * 1000)
        if any(fd == self._wake for fd, _ in ready):
            os.eventfd_read(self._wake)
        if not any(fd == self._fd for fd, _ in ready):
            return Seen(writing=frozenset(self._open))
        time.sleep(_GATHER)
        return self._read()

    def wake(self) -> None:
        """Let `wait` return."""
        os.eventfd_write(self._wake, 1)

    def close(self) -> None:
        """Stop watching."""
        os.close(self._fd)
        os.close(self._wake)

    def _read(self) -> Seen:
        changed: set[str] = set()
        everything = False
        for watch, mask, name in self._events():
            if mask & _OVERFLOW:
                everything = True
                self._open.clear()
                self._add("", _ROOT)
            elif mask & _IGNORED:
                self._folders.pop(watch, None)
            elif watch in self._folders:
                path = self._take(self._folders[watch], mask, name)
                everything |= path == NAME
                changed |= {path} - {""}
        return Seen(frozenset(changed), everything, frozenset(self._open))

    def _take(self, folder: str, mask: int, name: str) -> str:
        """Take one event in; return the path that it is about, or "" if nobody minds."""
        if not name:
            if not folder and mask & (_ROOT | _UNMOUNT):
                raise NoBrain(f"the brain is gone from {printable(self._root)}")
            return ""
        path = f"{folder}/{name}" if folder else name
        is_folder = bool(mask & _IS_FOLDER)
        if self._rules.ignored(path, name, is_folder):
            return ""
        if is_folder:
            if mask & (_CREATE | _MOVED_TO):
                self._add(path)
        elif mask & _MODIFY or (mask & _CREATE and self._is_empty(path)):
            self._open.add(path)
        elif mask & (_CLOSE_WRITE | _DELETE | _MOVED_FROM):
            self._open.discard(path)
        if path == NAME:
            self._read_rules()
        return path

    def _is_empty(self, path: str) -> bool:
        """Tell whether a new file has yet to be written, of which no event says anything."""
        try:
            st = os.lstat(os.path.join(self._root, path))
        except OSError:
            return False
        return stat.S_ISREG(st.st_mode) and st.st_size == 0

    def _events(self) -> Iterator[tuple[int, int, str]]:
        """Yield what is in the queue: the number of the watch, what happened, and to which name."""
        while True:
            try:
                data = os.read(self._fd, _BUFFER)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                watch, mask, _, length = _HEAD.unpack_from(data, at)
                at += _HEAD.size + length
                yield watch, mask, os.fsdecode(data[at - length : at].rstrip(b"\0"))

    def _read_rules(self) -> None:
        """Follow a changed `.brainignore`; one that is wrong is told of when it is recorded by."""
        try:
            self._rules = IgnoreRules.load(self._root)
        except InvalidInput:
            return
        self._add("", _ROOT)

    def _add(self, folder: str, more: int = 0) -> None:
        """Watch a folder and those in it; one that is watched already goes by its new name."""
        waiting = [folder]
        while waiting:
            path = waiting.pop()
            where = os.path.join(self._root, path)
            watch = self._libc.inotify_add_watch(
                self._fd, os.fsencode(where), _WANTED | _HOW * bool(path) | more
            )
            if watch < 0:
                _pass_over(ctypes.get_errno())
                continue
            more = 0
            self._folders[watch] = path
            waiting += self._below(path, where)

    def _below(self, path: str, where: str) -> list[str]:
        try:
            with os.scandir(where) as entries:
                names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError as error:
            _pass_over(error.errno or 0)
            return []
        paths = [(f"{path}/{name}" if path else name, name) for name in names]
        return [inner for inner, name in paths if not self._rules.ignored(inner, name, True)]


def _pass_over(number: int) -> None:
    """Pass over a folder that is gone or closed to us, which the scan has its own words for."""
    if number not in (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP):
        raise _refused(number)


def _refused(number: int) -> BrainError:
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
