"""Going through a home: what is a part of a brain, and what stays out."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from .. import limits
from ..errors import InvalidInput, printable
from ..objects import paths
from ..objects.entry import LINK
from ..worktree.folders import Folders, opened
from ..worktree.walk import STORES
from .layout import OTHER, RULES, Layout, is_ruling, usual_reason
from .left import Left, why_not
from .protocol import File
from .published import NAME as RECORD
from .reading import GONE, CannotTake, read

MAX_FILES = 200_000
"""Files that are taken from one home."""
MAX_LISTED = 1_000_000
"""Files that are looked at in one home."""
MAX_TOTAL_BYTES = 2 << 30
"""Bytes that are taken from one home."""


class Taken(NamedTuple):
    """A file: where it lies in the home, where it goes in the brain, and what it is."""

    home: str
    brain: str
    file: File


def sift(root: Path, layout: Layout, left: Left) -> Iterator[Taken]:
    """Yield the files of the home at `root` that a brain takes, in the order of the rules.

    Nothing outside of `root` is looked at, and no link is followed. What is left out goes to
    `left`. Raises `InvalidInput` (`too_many`, `too_large`) for a home past the limits.
    """
    with opened(root) as fd, closing(Folders(fd)) as folders:
        walk = _Walk(folders, os.fstat(fd).st_dev, layout, left)
        seen = _Seen(left)
        size = 0
        for path in sorted(_some(walk.files("")), key=layout.rank):
            target = layout.place(path)
            if target is None or not seen.admits(path, target):
                continue
            try:
                file = read(folders, path)
            except CannotTake as error:
                left.add(error.code, path, error.why, None if error.code == GONE else target)
                continue
            if file.kind == LINK and not leads_right(layout, path, target, file.content.decode()):
                left.add("link_outside", path, "the link leads to what is not taken")
                continue
            size += len(file.content)
            if seen.count > MAX_FILES or size > MAX_TOTAL_BYTES:
                raise _too_many(f"{MAX_FILES} files or {MAX_TOTAL_BYTES} bytes to take")
            yield Taken(path, target, file)


def _some(found: Iterator[str]) -> Iterator[str]:
    for number, path in enumerate(found):
        if number == MAX_LISTED:
            raise _too_many(f"{MAX_LISTED} files to look at")
        yield path


def _too_many(what: str) -> InvalidInput:
    return InvalidInput(
        f"more than {what}",
        code="too_many",
        hint="name a smaller folder, such as that of the skills",
    )


def leads_right(layout: Layout, home: str, target: str, text: str) -> bool:
    """Tell whether a link means in the brain what it means in the home."""
    there, here = (
        posixpath.normpath(posixpath.join(posixpath.dirname(path), text)) for path in (home, target)
    )
    return layout.place(there) == here or layout.place(f"{there}/x") == f"{here}/x"


class _Seen:
    """The paths taken so far, as macOS and Windows compare them."""

    def __init__(self, left: Left) -> None:
        self.count = 0
        self._left = left
        self._files: dict[str, str] = {}
        self._folders: set[str] = set()

    def admits(self, home: str, target: str) -> bool:
        """Tell whether the file at `home` can go to `target`; note it if so."""
        try:
            paths.check(target)
        except InvalidInput as error:
            self._left.add(error.code, home, why_not(error))
            return False
        folded = paths.fold(target)
        above = [folded[:at] for at, char in enumerate(folded) if char == "/"]
        other = next((self._files[path] for path in (folded, *above) if path in self._files), None)
        if other is not None or folded in self._folders:
            why = f"{printable(other)} is there already" if other else "a folder is there already"
            self._left.add("case_collision" if other != target else "taken", home, why)
            return False
        self._files[folded] = target
        self._folders.update(above)
        self.count += 1
        return True


class _Spelling:
    """A folder by one of the names that macOS and Windows take for one."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.has_files = False


class _Walk:
    """Lists the folders that a rule of the layout reaches into."""

    def __init__(self, folders: Folders, device: int, layout: Layout, left: Left) -> None:
        self._folders = folders
        self._device = device
        self._layout = layout
        self._left = left

    def files(self, folder: str) -> Iterator[str]:
        """Yield the paths of files and links below `folder` that may be taken."""
        try:
            with os.scandir(self._folders.open(folder)) as found:
                entries = sorted(found, key=lambda entry: entry.name)
            kinds = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
        except (OSError, InvalidInput) as error:
            why = getattr(error, "strerror", None) or str(error)
            target = self._layout.place(f"{folder}/x")
            if target is None:
                raise InvalidInput(
                    f"cannot read {printable(folder or 'the folder')}: {why}", code="unreadable"
                ) from error
            self._left.add("unreadable", folder, why, target.removesuffix("/x"))
            return
        twins: dict[str, _Spelling] = {}
        for name, st in kinds:
            path = f"{folder}/{name}" if folder else name
            if not self._admits(folder, path, name, st):
                continue
            if not stat.S_ISDIR(st.st_mode):
                yield path
            elif self._can_enter(path, twins.get(paths.fold(name))):
                here = twins[paths.fold(name)] = _Spelling(path)
                for inner in self.files(path):
                    here.has_files = True
                    yield inner

    def _can_enter(self, path: str, twin: _Spelling | None) -> bool:
        """Tell whether a brain can hold a folder, beside one of another spelling if there is."""
        try:
            paths.check(path)
        except InvalidInput as error:
            self._left.add(error.code, path, why_not(error))
            return False
        if twin is None:
            return True
        stays, goes = (twin.path, path) if twin.has_files else (path, twin.path)
        self._left.add("case_collision", goes, f"{printable(stays)} is there already")
        return stays == path

    def _admits(self, folder: str, path: str, name: str, st: os.stat_result) -> bool:
        layout = self._layout
        is_folder = stat.S_ISDIR(st.st_mode)
        if paths.is_own(name) or path == RECORD:
            self._tell_of_nested(folder, path, name)
            return False
        why = layout.reason(path)
        reached = layout.reaches(path) if is_folder else layout.covers(path)
        if not why and reached:
            why = usual_reason(name, is_folder)
        if not why and not reached:
            why = RULES if is_ruling(path) else OTHER
        if not why and is_folder and path.count("/") >= limits.MAX_DEPTH:
            why = "nested too deeply"
        if not why and st.st_dev != self._device:
            why = "lies on another disk"
        if why and (reached or folder in layout.owned or layout.reason(path)):
            self._left.add("left_out", path, why)
        return not why

    def _tell_of_nested(self, folder: str, path: str, name: str) -> None:
        """Name a store or repository below a folder that is taken."""
        whose = STORES.get(name.lower())
        if folder and whose and self._layout.reaches(folder):
            self._left.add("nested", path, f"it belongs to another {whose}")
