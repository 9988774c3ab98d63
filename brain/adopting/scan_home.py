"""Scan the home of a program for the files that belong in a brain.

Skills may be symbolic links, as `npx skills add` makes them. Such a link is followed to a place
inside the adopted folder, and from the home of a program, under its usual name, to
`.agents/skills` beside it, where such installers put the skills of all programs. Nothing else
outside is read: the notice names the command that takes it.
"""

from __future__ import annotations

import os
import posixpath
import shlex
import stat
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from .. import limits
from ..errors import ACCESS_HINT, InvalidInput, printable_text
from ..folder.handles import FolderHandles, open_root
from ..folder.scan import BEHIND_LINK, NESTED_STORE_FOLDERS, LeftOutPlace, find_left_out_skills
from ..objects import paths
from ..objects.tree_node import LINK
from ..ops.import_states import SourceFile
from ..skills.skill_layout import SKILL_FILES
from .layouts import (
    NO_SKILL_FOLDERS,
    REASON_OTHER,
    REASON_RULE_FILE,
    HomeLayout,
    PathRule,
    default_skip_reason,
    is_rule_file,
)
from .publish_manifest import RECORD_NAME as RECORD
from .source_files import (
    GONE_CODE,
    HomeFile,
    SkipFile,
    SkippedFiles,
    read_home_file,
    real_place,
    reason_without_path,
)

MAX_HOME_FILES = 200_000
"""Files adopted from one home."""
MAX_HOME_LISTED = 1_000_000
"""Files listed in one home."""
MAX_HOME_BYTES = 2 << 30
"""Bytes adopted from one home."""

OUTSIDE_CODE = "link_outside"
OTHER_SKILLS_CODE = "other_skills"
"""Code of a skipped folder with skills that are none of the program."""


def scan_home(
    root: Path, layout: HomeLayout, skipped: SkippedFiles, skills_left_out: Mapping[str, int]
) -> Iterator[HomeFile]:
    """Yield the files of the home at `root` to adopt, in the order of the rules.

    Reads nothing outside of `root` but skills that `LinkedSkills` allows. Skipped files are
    added to `skipped`, folders with the number of skills in them. Raises `InvalidInput`
    (`too_many`) for a home above the limits.
    """
    taken = _TakenPaths(skipped)
    size = 0
    for home_file in _FolderScan(root, layout, skipped, skills_left_out, taken).read():
        size += len(home_file.file.content)
        if taken.count > MAX_HOME_FILES or size > MAX_HOME_BYTES:
            raise _too_many_error(f"{MAX_HOME_FILES} files or {MAX_HOME_BYTES} bytes to take")
        yield home_file


def _too_many_error(limit: str) -> InvalidInput:
    return InvalidInput(
        f"this folder has more than {limit}",
        code="too_many",
        hint="name a smaller folder, such as that of the skills",
    )


def _link_keeps_target(layout: HomeLayout, home: str, target: str, link: SourceFile) -> bool:
    """Tell whether a link has the same meaning in brain and home."""
    text = link.content.decode()
    in_home, in_brain = (
        posixpath.normpath(posixpath.join(posixpath.dirname(path), text)) for path in (home, target)
    )
    return (
        layout.brain_path(in_home) == in_brain
        or layout.brain_path(f"{in_home}/x") == f"{in_brain}/x"
    )


class _TakenPaths:
    """The paths adopted so far, folded as macOS and Windows compare them."""

    def __init__(self, skipped: SkippedFiles) -> None:
        self.count = 0
        self._skipped = skipped
        self._files: dict[str, str] = {}
        self._folders: set[str] = set()

    def admit(self, home: str, target: str) -> bool:
        """Add the path `target` of the file at `home`; return False if that is impossible."""
        try:
            paths.check_path(target)
        except InvalidInput as error:
            self._skipped.add(error.code, home, reason_without_path(error))
            return False
        folded = paths.fold_name(target)
        folders = [folded[:at] for at, char in enumerate(folded) if char == "/"]
        other = next(
            (self._files[path] for path in (folded, *folders) if path in self._files), None
        )
        if other is not None or folded in self._folders:
            reason = f"{printable_text(other) if other else 'a folder'} has that path already"
            self._skipped.add("case_collision" if other != target else "taken", home, reason)
            return False
        self._files[folded] = target
        self._folders.update(folders)
        self.count += 1
        return True


class _FolderScan:
    """Reads the files of a home, or of the folder of a linked skill."""

    def __init__(
        self,
        root: Path,
        layout: HomeLayout,
        skipped: SkippedFiles,
        skills_left_out: Mapping[str, int],
        taken: _TakenPaths,
    ) -> None:
        self._root, self._layout = root, layout
        self._skipped, self._taken = skipped, taken
        self._skills_left_out = skills_left_out
        self._linked = LinkedSkills(root, layout)
        self._listed = 0
        self._device = 0

    def read(self) -> Iterator[HomeFile]:
        """Yield the files to adopt, in the order of the rules."""
        layout = self._layout
        with open_root(self._root) as fd, closing(FolderHandles(fd)) as folders:
            self._device = os.fstat(fd).st_dev
            for path in sorted(self._list_files(folders, ""), key=layout.rule_rank):
                target = layout.brain_path(path)
                if target is None:
                    continue
                try:
                    file = read_home_file(folders, path)
                    if file.kind == LINK and not _link_keeps_target(layout, path, target, file):
                        reason = "the link points to a file that is not adopted"
                        raise SkipFile(OUTSIDE_CODE, reason)
                except SkipFile as error:
                    if error.code == OUTSIDE_CODE:
                        yield from self._follow_link(path, target, error)
                    elif self._taken.admit(path, target):
                        unread = None if error.code == GONE_CODE else target
                        self._skipped.add(error.code, path, error.reason, unread)
                    continue
                if self._taken.admit(path, target):
                    yield HomeFile(path, target, file)

    def _follow_link(self, path: str, target: str, refusal: SkipFile) -> Iterator[HomeFile]:
        """Yield the files of the skill that a link leads to; other links are skipped."""
        try:
            found = self._linked.resolve(path)
            if found is None:
                raise refusal
            if not found.is_folder:
                with open_root(found.root) as fd, closing(FolderHandles(fd)) as folders:
                    file = read_home_file(folders, found.path)
                if self._taken.admit(path, target):
                    yield HomeFile(path, target, file)
                return
        except SkipFile as error:
            self._skipped.add(error.code, path, error.reason, target)
            return
        holder = self._layout.skill_homes.get(paths.fold_name(target))
        if holder is not None:
            reason = f"its place is taken by {printable_text(holder)}"
            self._skipped.add("left_out", path, reason)
            return
        inner_skipped = SkippedFiles()
        layout = self._linked.folder_layout(target)
        place = found.root / found.path
        for inner in _FolderScan(place, layout, inner_skipped, {}, self._taken).read():
            yield inner._replace(home_path=f"{path}/{inner.home_path}")
        for notice in inner_skipped.notices:
            self._skipped.add(notice.code, f"{path}/{notice.path}", notice.message, target)

    def _list_files(self, folders: FolderHandles, folder: str) -> Iterator[str]:
        """Yield the paths of files and links below `folder` that may be adopted."""
        try:
            with os.scandir(folders.open(folder)) as scanned:
                entries = sorted(scanned, key=lambda entry: entry.name)
            kinds = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
        except (OSError, InvalidInput) as error:
            reason = getattr(error, "strerror", None) or str(error)
            target = self._layout.brain_path(f"{folder}/x")
            if target is None:
                raise InvalidInput(
                    f"{folder or 'the folder'} cannot be read: {reason}",
                    code="unreadable",
                    hint=ACCESS_HINT,
                ) from error
            self._skipped.add("unreadable", folder, reason, target.removesuffix("/x"))
            return
        spellings: dict[str, str] = {}
        filled: set[str] = set()
        for name, st in kinds:
            path = f"{folder}/{name}" if folder else name
            if not self._is_admitted(folder, path, name, st):
                continue
            if not stat.S_ISDIR(st.st_mode):
                self._listed += 1
                if self._listed > MAX_HOME_LISTED:
                    raise _too_many_error(f"{MAX_HOME_LISTED} files to look at")
                yield path
            elif self._can_enter(path, spellings.get(paths.fold_name(name)), filled):
                spellings[paths.fold_name(name)] = path
                for inner in self._list_files(folders, path):
                    filled.add(path)
                    yield inner

    def _can_enter(self, path: str, other: str | None, filled: set[str]) -> bool:
        """Tell whether a brain can hold a folder, also beside one of another spelling."""
        try:
            paths.check_path(path)
        except InvalidInput as error:
            self._skipped.add(error.code, path, reason_without_path(error))
            return False
        if other is None:
            return True
        taken, left_out = (other, path) if other in filled else (path, other)
        reason = f"{printable_text(taken)} has that path already"
        self._skipped.add("case_collision", left_out, reason)
        return taken == path

    def _is_admitted(self, folder: str, path: str, name: str, st: os.stat_result) -> bool:
        layout = self._layout
        is_folder = stat.S_ISDIR(st.st_mode)
        if paths.is_vcs_name(name) or path == RECORD:
            self._report_nested_store(folder, path, name)
            return False
        reason = layout.skip_reason(path)
        reached = layout.may_contain(path) if is_folder else layout.has_rule_for(path)
        if not reason and reached:
            reason = default_skip_reason(name, is_folder)
        if not reason and not reached:
            reason = REASON_RULE_FILE if is_rule_file(path) else REASON_OTHER
            if stat.S_ISLNK(st.st_mode) and layout.may_contain(path):
                inside = real_place(self._root, f"{path}/x").removesuffix("/x")
                is_adopted = inside != path and layout.may_contain(inside)
                reason = "a link to a folder that is adopted"
                if not is_adopted:
                    reason = _describe_folder_link(self._root / path)
                self._skipped.add(OUTSIDE_CODE, path, reason)
                return False
        if not reason and is_folder and path.count("/") >= limits.MAX_PATH_DEPTH:
            reason = "nested too deeply"
        if not reason and st.st_dev != self._device:
            reason = "on another disk"
        skills = self._skills_left_out.get(path, 0)
        is_reported = reached or folder in layout.reported_folders or layout.skip_reason(path)
        if reason and (skills or is_reported):
            count = f", with {skills} skill{'s'[: skills != 1]}" if skills else ""
            code = OTHER_SKILLS_CODE if skills and reason == REASON_OTHER else "left_out"
            self._skipped.add(code, path, reason + count)
        return not reason

    def _report_nested_store(self, folder: str, path: str, name: str) -> None:
        """Report a store or repository inside a folder to adopt."""
        owner = NESTED_STORE_FOLDERS.get(name.lower())
        if folder and owner and self._layout.may_contain(folder):
            self._skipped.add("nested", path, f"it belongs to another {owner}")


_SHARED_SKILLS = (".agents", "skills")


def _describe_folder_link(path: Path) -> str:
    """Say where a link in the place of a folder leads, and how to take the skills there."""
    target = os.path.realpath(path)
    shown = printable_text(target)
    left = find_left_out_skills(path.parent, [LeftOutPlace(path.name, BEHIND_LINK)])
    count = sum(place.files for place in left)
    if not count:
        return f"a link, which leads to {shown}"
    skills = f"{count} skill{'s'[: count != 1]}"
    return f"a link with {skills} behind it; take them with brain adopt {shlex.quote(shown)} BRAIN"


class LinkTarget(NamedTuple):
    """The target of a link: `root` is a folder that may be read, `path` is below it."""

    root: Path
    path: str
    is_folder: bool


class LinkedSkills:
    """Resolves the links to skills in the folder at `root`."""

    def __init__(self, root: Path, layout: HomeLayout) -> None:
        self._layout = layout
        self._root = Path(os.path.realpath(root))
        self.allowed = [self._root]
        if layout.is_home(root):
            user = root.absolute().parents[layout.home_name.count("/")]
            shared = user.joinpath(*_SHARED_SKILLS)
            if not any(map(os.path.islink, (shared, shared.parent))):
                self.allowed.append(Path(os.path.realpath(shared)))

    def resolve(self, path: str) -> LinkTarget | None:
        """Return where the link at `path` leads, None if it is not a skill.

        Raises `SkipFile` if it leads to an adopted skill, or outside of what may be read.
        """
        target = Path(os.path.realpath(self._root / path))
        if not os.path.lexists(target) and target.is_relative_to(self._root):
            raise SkipFile("broken_link", "a link to nothing")
        is_skill_file = path.rpartition("/")[2] in SKILL_FILES
        if is_skill_file:
            if not target.is_file():
                return None
        elif not any((target / name).is_file() for name in SKILL_FILES):
            return None
        root = next((root for root in self.allowed if target.is_relative_to(root)), None)
        if root is None or target == root:
            folder = target.parent if is_skill_file else target
            command = f"brain adopt {shlex.quote(str(folder))} BRAIN"
            raise SkipFile(
                OUTSIDE_CODE, printable_text(f"a link to a skill outside; take it with {command}")
            )
        below = target.relative_to(root).as_posix()
        if root == self._root and self._is_adopted(below, is_skill_file):
            raise SkipFile("same_skill", "a link to a skill that is adopted")
        return LinkTarget(root, below, not is_skill_file)

    def _is_adopted(self, below: str, is_file: bool) -> bool:
        if is_file:
            name = below.rpartition("/")[2]
            return name in SKILL_FILES and self._layout.brain_path(below) is not None
        return self._layout.brain_path(f"{below}/{SKILL_FILES[0]}") is not None

    def folder_layout(self, brain_folder: str) -> HomeLayout:
        """Return the layout for reading the folder of a linked skill."""
        return replace(
            self._layout,
            rules=(PathRule("", f"{brain_folder}/"),),
            skill_folders=NO_SKILL_FOLDERS,
            other_skills={},
            skill_homes={},
            skipped_patterns=((".*", "hidden"),),
            reported_folders=(),
        )
