"""Walk folders: collect the files of the brain, skip those that cannot be recorded.

Folders are opened relative to their parent's descriptor and never through a link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from .. import limits
from ..errors import InvalidInput, printable_text
from ..objects import paths, portability
from ..results import Notice
from ..skills.skill_layout import SKILL_FILES
from . import file_fingerprint, symlinks
from .dirfd import UNREADABLE, FolderHandles, unreadable_error
from .ignore_rules import IgnoreRules, is_ignored_by_default
from .mounts import crosses_device_error

TOO_LARGE = "too_large"
"""The code of the error for a file that is too large."""
NO_CHILDREN: frozenset[str] = frozenset()
"""For a folder without known children."""

_PROGRESS_INTERVAL = 1024
_MAX_LISTED_NAMES = 20
"""Refused names, and files with hard links, that messages list."""
_MAX_PLAIN_CHARS = limits.MAX_FILE_NAME_BYTES
_UNUSUAL_CHARS = frozenset("\\:~")
NESTED_STORE_FOLDERS = {".git": "repository", ".brain": "brain"}
"""Names of folders below the top that hold another store, and its kind."""


BEHIND_LINK, IGNORED = "link_outside", "ignored"
"""Why a place is left out; reasons of `LeftOutSkills`."""


class LeftOutPlace(NamedTuple):
    """A link that leads outside the brain, or a path that `.brainignore` excludes."""

    path: str
    reason: str


class CandidateFile(NamedTuple):
    """A file not proven unchanged; `size` is in bytes."""

    path: str
    kind: int
    size: int
    fingerprint: bytes


class FolderWalk:
    """Collects the files of folders; `files` starts with the number of known files.

    `tick` gets the number of files now and then. `changed`, `notices`, `left_out` (links that
    lead outside, and what `.brainignore` excludes), `skipped` (files and folders that a brain
    cannot hold, each with the reason) and `folders` (the fingerprints of listed folders by path,
    "" for the root) grow with each call. Every method raises `InvalidInput` with code
    `unreadable` for the root alone, `crosses_device`, `too_many` or `unsafe_path`.
    """

    def __init__(
        self, root_fd: int, rules: IgnoreRules, files: int, tick: Callable[[int], None]
    ) -> None:
        self._folders = FolderHandles(root_fd)
        self._rules = rules
        self._device = os.fstat(root_fd).st_dev
        self._tick = tick
        self.files = files
        self.changed: dict[str, CandidateFile] = {}
        self.notices: list[Notice] = []
        self.left_out: list[LeftOutPlace] = []
        self.folders: dict[str, bytes] = {}
        self.skipped: dict[str, InvalidInput] = {}
        self._hard_link_count = 0

    def close(self) -> None:
        """Close all open folders."""
        self._folders.close()

    def finish_walk(self) -> None:
        """Add the last notices."""
        if self._hard_link_count > _MAX_LISTED_NAMES:
            more = f"{self._hard_link_count - _MAX_LISTED_NAMES} more files have other names"
            self._add_notice("hard_link", "", more)

    def walk_folder(self, folder: str, known_names: frozenset[str]) -> None:
        """List `folder`, except its children `known_names`, and every new folder below it.

        Files and folders that vanish meanwhile are skipped.
        """
        waiting = self._list_folder(folder, known_names)
        while waiting:
            waiting.extend(self._list_folder(waiting.pop(), NO_CHILDREN))

    def add_new_file(self, path: str, st: os.stat_result) -> None:
        """Add the new file at `path`, if it belongs to the brain."""
        if self.add_file_if_included(path, st):
            self.files += 1
            if self.files > limits.MAX_FILES:
                raise InvalidInput(
                    f"the folder of the brain has more than {limits.MAX_FILES} files",
                    code="too_many",
                    hint="exclude folders in .brainignore, such as those that programs fill",
                )
            if not self.files % _PROGRESS_INTERVAL:
                self._tick(self.files)

    def visit_path(self, path: str, st: os.stat_result) -> None:
        """Add a given path, or a known path whose type changed."""
        is_folder, name = stat.S_ISDIR(st.st_mode), path.rpartition("/")[2]
        if self._is_ignored(path, name, is_folder) or not self._check_name(path, name):
            return
        if is_folder:
            self.walk_folder(path, NO_CHILDREN)
        else:
            self.add_new_file(path, st)

    def add_file_if_included(self, path: str, st: os.stat_result) -> bool:
        """Add the file at `path` to `changed` if it belongs to the brain; tell whether it does.

        One that is too large does, and is added to `skipped` instead.
        """
        if st.st_dev != self._device:
            raise crosses_device_error(path)
        if stat.S_ISREG(st.st_mode):
            if st.st_size > limits.MAX_FILE_BYTES:
                self.skipped[path] = file_too_large_error(path, st.st_size)
                return True
            if st.st_nlink > 1:
                self._notice_hard_links(path, st.st_nlink)
        elif stat.S_ISDIR(st.st_mode) or not self._is_link_inside(path, st):
            return False
        self.changed[path] = candidate_from_stat(path, st)
        return True

    def _list_folder(self, folder: str, known_names: frozenset[str]) -> list[str]:
        """List one folder; return the paths of its new subfolders."""
        try:
            fd = self._folders.open(folder)
            st = os.fstat(fd)
            if st.st_dev != self._device:
                raise crosses_device_error(folder)
            self.folders[folder] = file_fingerprint.fingerprint_of(st)
            with os.scandir(fd) as entries:
                return self._classify_entries(folder, entries, known_names)
        except FileNotFoundError:
            return []
        except OSError as error:
            unreadable = unreadable_error(folder or ".", error)
            if not folder or unreadable.code != UNREADABLE:
                raise unreadable from error
            self.skipped[folder] = unreadable
            self.folders.pop(folder, None)  # so that the next scan lists it again
            return []

    def _classify_entries(
        self, folder: str, entries: Iterable[os.DirEntry[str]], known_names: frozenset[str]
    ) -> list[str]:
        prefix = f"{folder}/" if folder else ""
        below: list[str] = []
        names = [
            entry.name
            for entry in entries
            if entry.name in known_names or self._include_entry(prefix + entry.name, entry, below)
        ]
        if not known_names.issuperset(names):
            for name, error in _find_collisions(prefix, names):
                if name not in known_names:
                    self._skip_collision(prefix + name, error, below)
        return below

    def _skip_collision(self, path: str, error: InvalidInput, below: list[str]) -> None:
        """Leave out a file or folder, even if no other one is recorded: none comes first."""
        self.skipped[path] = error
        if self.changed.pop(path, None):
            self.files -= 1
        elif path in below:
            below.remove(path)

    def _include_entry(self, path: str, entry: os.DirEntry[str], below: list[str]) -> bool:
        """Tell whether a new entry is included; add a file, or append a folder to `below`."""
        name = entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if self._is_ignored(path, name, is_folder) or not self._check_name(path, name):
            return False
        if is_folder:
            below.append(path)
        else:
            with suppress(FileNotFoundError):
                self.add_new_file(path, entry.stat(follow_symlinks=False))
        return True

    def _is_ignored(self, path: str, name: str, is_folder: bool) -> bool:
        """Tell whether the rules exclude `path`; add a notice for a nested store or repository."""
        if not self._rules.is_ignored(path, name, is_folder):
            return False
        if "/" in path and name.lower() in NESTED_STORE_FOLDERS:
            kind = NESTED_STORE_FOLDERS[name.lower()]
            what = f"left out: {printable_text(path)} belongs to another {kind}"
            self._add_notice("nested", path, what)
        elif (
            (is_folder or name in SKILL_FILES)
            and not paths.is_vcs_name(name)
            and not is_ignored_by_default(name, is_folder)
        ):
            self.left_out.append(LeftOutPlace(path, IGNORED))
        return True

    def _check_name(self, path: str, name: str) -> bool:
        """Tell whether a brain may have a name; if not, the path is skipped."""
        try:
            _check_path(path, name)
        except InvalidInput as error:
            self.skipped[path] = error
            return False
        return True

    def _notice_hard_links(self, path: str, count: int) -> None:
        self._hard_link_count += 1
        if self._hard_link_count <= _MAX_LISTED_NAMES:
            what = f"{printable_text(path)} has {count} names: a change through one changes all"
            self._add_notice("hard_link", path, what)

    def _is_link_inside(self, path: str, st: os.stat_result) -> bool:
        """Tell whether `path` is a link that stays inside; else add a notice."""
        if not stat.S_ISLNK(st.st_mode):
            self._add_notice(
                "not_regular", path, f"left out: {printable_text(path)} is not a regular file"
            )
            return False
        folder, _, name = path.rpartition("/")
        try:
            target = symlinks.read_symlink(name, self._folders.open(folder))
            symlinks.encode_link_target(path, target)
        except InvalidInput as error:
            self._add_notice(error.code, path, f"left out: {error.message}")
            self.left_out.append(LeftOutPlace(path, BEHIND_LINK))
            return False
        return True

    def _add_notice(self, code: str, path: str, message: str) -> None:
        self.notices.append(Notice(code, path, message))


def join_errors(errors: Sequence[InvalidInput]) -> InvalidInput:
    """Return one error for several, which names the first of them."""
    first, *others = errors
    if not others:
        return first
    message = "; ".join(error.message for error in errors[:_MAX_LISTED_NAMES])
    if len(errors) > _MAX_LISTED_NAMES:
        message += f"; and {len(errors) - _MAX_LISTED_NAMES} more"
    return InvalidInput(message, code=first.code, hint=first.hint)


def candidate_from_stat(path: str, st: os.stat_result) -> CandidateFile:
    """Return a file with its stat as a candidate."""
    kind, fingerprint = file_fingerprint.entry_kind(st.st_mode), file_fingerprint.fingerprint_of(st)
    return CandidateFile(path, kind, st.st_size, fingerprint)


def file_too_large_error(path: str, size: int) -> InvalidInput:
    """Return the error for a file that is too large."""
    return InvalidInput(
        f"{printable_text(path)} has {size} bytes, more than {limits.MAX_FILE_BYTES}",
        code=TOO_LARGE,
        hint="move it out of the brain, or name it in .brainignore",
    )


def check_name_collisions(prefix: str, names: list[str]) -> None:
    """Refuse names of one folder that macOS or Windows treat as equal.

    Raises `InvalidInput` (`case_collision`), which names both.
    """
    for _, error in _find_collisions(prefix, names):
        raise error


def _find_collisions(prefix: str, names: list[str]) -> Iterator[tuple[str, InvalidInput]]:
    """Yield each name of a folder that collides with another one, with the error."""
    if portability.has_no_case_collisions(names):
        return
    for other, name in portability.find_case_collisions(sorted(names)):
        error = InvalidInput(
            portability.case_collision_message(prefix + name, prefix + other),
            code="case_collision",
            hint="rename one of them, or exclude it in .brainignore",
        )
        yield from ((other, error), (name, error))


def _check_path(path: str, name: str) -> None:
    """As `paths.check_path`, but faster for the plain names that nearly all files have."""
    is_visible = name.isascii() and name.isprintable()
    is_plain = is_visible and _UNUSUAL_CHARS.isdisjoint(name) and name[0] != "."
    if not is_plain or len(path) > _MAX_PLAIN_CHARS or path.count("/") >= limits.MAX_PATH_DEPTH:
        try:
            paths.check_path(path)
        except InvalidInput as error:
            ways = "rename it, or exclude it in .brainignore"
            error.hint = f"{ways}; {error.hint}" if error.hint else ways
            raise
