"""Listing folders: what in them belongs to the brain, and what stops the scan.

Folders are opened relative to their parent's descriptor and never through a link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

from .. import limits
from ..errors import InvalidInput, printable
from ..objects import holding, paths
from ..results import Notice
from . import links, stats
from .folders import Folders, unreadable
from .ignore import IgnoreRules
from .mounts import crosses_device

NONE: frozenset[str] = frozenset()
"""No child of a folder is known."""

_TICK = 1024
_NAMED = 20
"""Of the names that are refused, or of files with several, so many are told one by one."""
_PLAIN_CHARS = limits.MAX_NAME_BYTES
_ODD = frozenset("\\:~")
STORES = {".git": "repository", ".brain": "brain"}
"""What a folder of that name, below the top, is the store of."""


class Candidate(NamedTuple):
    """A file not proven unchanged. `size` is in bytes; `fingerprint` as in `stats`."""

    path: str
    kind: int
    size: int
    fingerprint: bytes


class Walk:
    """Collects the files of folders; `files` starts with the number already known.

    `tick` is told the number of files now and then.
    `changed`, `notices` and `folders` (fingerprints of listed folders, by path, the root
    as "") grow with each call. Every method raises `InvalidInput` with code
    `unreadable`, `crosses_device`, `bad_name`, `bad_char`, `bad_path`, `too_deep`,
    `too_many`, `too_large`, `case_collision` or `unsafe_path`.
    """

    def __init__(
        self, root_fd: int, rules: IgnoreRules, files: int, tick: Callable[[int], None]
    ) -> None:
        self._folders = Folders(root_fd)
        self._rules = rules
        self._device = os.fstat(root_fd).st_dev
        self._tick = tick
        self.files = files
        self.changed: dict[str, Candidate] = {}
        self.notices: list[Notice] = []
        self.folders: dict[str, bytes] = {}
        self._refused: list[InvalidInput] = []
        self._linked = 0

    def close(self) -> None:
        """Close the folders that are still open."""
        self._folders.close()

    def finish(self) -> None:
        """Refuse the names that were met and cannot stand in a brain, all of them in one error.

        To be called once everything was gone through; adds the last notices.
        """
        if self._linked > _NAMED:
            more = f"{self._linked - _NAMED} more files have other names"
            self._notice("hard_link", "", more)
        if not self._refused:
            return
        first, *others = self._refused
        if others:
            named = "; ".join(error.message for error in self._refused[:_NAMED])
            more = f"; and {len(others) + 1 - _NAMED} more" if len(others) >= _NAMED else ""
            first = InvalidInput(named + more, code=first.code, hint=first.hint)
        raise first

    def enter(self, folder: str, known: frozenset[str]) -> None:
        """List `folder`, but for its children `known`, and every new folder below it.

        What vanishes meanwhile is passed over.
        """
        waiting = self._list(folder, known)
        while waiting:
            waiting.extend(self._list(waiting.pop(), NONE))

    def admit(self, path: str, st: os.stat_result) -> None:
        """Take the new file at `path`, if it belongs to the brain."""
        if self.take(path, st):
            self.files += 1
            if self.files > limits.MAX_FILES:
                raise InvalidInput(f"more than {limits.MAX_FILES} files", code="too_many")
            if not self.files % _TICK:
                self._tick(self.files)

    def meet(self, path: str, st: os.stat_result) -> None:
        """Take what is at a path that was named, or is known, but not as what it is now."""
        is_folder, name = stat.S_ISDIR(st.st_mode), path.rpartition("/")[2]
        if self._leaves_out(path, name, is_folder) or not self._allows(path, name):
            return
        if is_folder:
            self.enter(path, NONE)
        else:
            self.admit(path, st)

    def take(self, path: str, st: os.stat_result) -> bool:
        """Note the file at `path` as changed, if it belongs to the brain; tell whether it does."""
        if st.st_dev != self._device:
            raise crosses_device(path)
        if stat.S_ISREG(st.st_mode):
            if st.st_size > limits.MAX_FILE_BYTES:
                raise too_large(path, st.st_size)
            if st.st_nlink > 1:
                self._tell_of_names(path, st.st_nlink)
        elif stat.S_ISDIR(st.st_mode) or not self._is_kept_link(path, st):
            return False
        known = stats.fingerprint(st)
        self.changed[path] = Candidate(path, stats.kind_of(st.st_mode), st.st_size, known)
        return True

    def _list(self, folder: str, known: frozenset[str]) -> list[str]:
        """List one folder; return the paths of its new subfolders."""
        try:
            fd = self._folders.open(folder)
            st = os.fstat(fd)
            if st.st_dev != self._device:
                raise crosses_device(folder)
            self.folders[folder] = stats.fingerprint(st)
            with os.scandir(fd) as entries:
                return self._sort_out(folder, entries, known)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise unreadable(folder or ".", error) from error

    def _sort_out(
        self, folder: str, entries: Iterable[os.DirEntry[str]], known: frozenset[str]
    ) -> list[str]:
        prefix = f"{folder}/" if folder else ""
        below: list[str] = []
        names = [
            entry.name
            for entry in entries
            if entry.name in known or self._is_part(prefix + entry.name, entry, below)
        ]
        if not known.issuperset(names):
            try:
                refuse_twins(prefix, names)
            except InvalidInput as error:
                self._refused.append(error)
        return below

    def _is_part(self, path: str, entry: os.DirEntry[str], below: list[str]) -> bool:
        """Tell whether a new entry is not left out; take a file, note a folder in `below`."""
        name = entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if self._leaves_out(path, name, is_folder) or not self._allows(path, name):
            return False
        if is_folder:
            below.append(path)
        else:
            with suppress(FileNotFoundError):
                self.admit(path, entry.stat(follow_symlinks=False))
        return True

    def _leaves_out(self, path: str, name: str, is_folder: bool) -> bool:
        """Tell whether the rules leave out what is at `path`; name a store or repository inside."""
        if not self._rules.ignored(path, name, is_folder):
            return False
        if "/" in path and name.lower() in STORES:
            what = f"left out: {printable(path)} belongs to another {STORES[name.lower()]}"
            self._notice("nested", path, what)
        return True

    def _allows(self, path: str, name: str) -> bool:
        """Tell whether a name may stand in a brain; if not, it is refused in the end."""
        try:
            _check(path, name)
        except InvalidInput as error:
            self._refused.append(error)
            return False
        return True

    def _tell_of_names(self, path: str, count: int) -> None:
        self._linked += 1
        if self._linked <= _NAMED:
            what = f"{printable(path)} has {count} names: whoever changes one changes this file"
            self._notice("hard_link", path, what)

    def _is_kept_link(self, path: str, st: os.stat_result) -> bool:
        """Tell whether `path` is a link that stays inside; else leave a notice."""
        if not stat.S_ISLNK(st.st_mode):
            self._notice("not_regular", path, f"left out: {printable(path)} is not a regular file")
            return False
        folder, _, name = path.rpartition("/")
        try:
            target = links.read_target(name, self._folders.open(folder))
            links.encode_target(path, target)
        except InvalidInput as error:
            self._notice(error.code, path, f"left out: {error.message}")
            return False
        return True

    def _notice(self, code: str, path: str, message: str) -> None:
        self.notices.append(Notice(code, path, message))


def too_large(path: str, size: int) -> InvalidInput:
    """Return the error for a file beyond the limit."""
    return InvalidInput(
        f"{printable(path)} has {size} bytes, more than {limits.MAX_FILE_BYTES}",
        code="too_large",
        hint="move it out of the brain, or name it in .brainignore",
    )


def refuse_twins(prefix: str, names: list[str]) -> None:
    """Refuse names of one folder that macOS or Windows could not keep apart.

    Raises `InvalidInput` (`case_collision`) that names both.
    """
    if holding.no_twins(names):
        return
    for other, name in holding.twins(sorted(names)):
        raise InvalidInput(
            f"{printable(prefix + other)} and {printable(prefix + name)} cannot lie in one "
            "folder on macOS or Windows",
            code="case_collision",
            hint="rename one of them",
        )


def _check(path: str, name: str) -> None:
    """As `paths.check`, quickly for the plain names that nearly all files have."""
    plain = name.isascii() and name.isprintable() and _ODD.isdisjoint(name) and name[0] != "."
    if not plain or len(path) > _PLAIN_CHARS or path.count("/") >= limits.MAX_DEPTH:
        try:
            paths.check(path)
        except InvalidInput as error:
            ways = "rename it, or leave it out by a pattern in .brainignore"
            error.hint = f"{ways}; {error.hint}" if error.hint else ways
            raise
