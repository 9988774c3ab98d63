"""Skills that are symbolic links, as `npx skills add` makes them in the home of a program.

A link is followed to a place inside the adopted folder, and from the home of a program, under
its usual name, to `.agents/skills` beside it, where such installers put the skills of all
programs. Nothing else outside is read: the notice names the command that takes it.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ..errors import printable_text
from ..folder.scan import BEHIND_LINK, LeftOutPlace, find_left_out_skills
from ..skills.skill_layout import SKILL_FILES
from .home_layout import NO_SKILL_FOLDERS, HomeLayout, PathRule
from .source_files import SkipFile

SAME_SKILL_CODE, OUTSIDE_CODE = "same_skill", "link_outside"
_SHARED_SKILLS = (".agents", "skills")


def describe_folder_link(path: Path) -> str:
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
            raise SkipFile(SAME_SKILL_CODE, "a link to a skill that is adopted")
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
