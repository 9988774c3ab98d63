"""Find the skills that a scan leaves out: behind links, and in ignored folders."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from ..results import LeftOutSkills
from ..skills.skill_layout import SKILL_FILES
from .handles import RootPath
from .ignore import is_ignored_by_default

BEHIND_LINK, IGNORED = "link_outside", "ignored"
"""Why a place is left out; reasons of `LeftOutSkills`."""


class LeftOutPlace(NamedTuple):
    """A link that leads outside the brain, or a path that `.brainignore` excludes."""

    path: str
    reason: str


_MAX_ENTRIES = 5000
"""Files and folders that one search looks at; an ignored folder may be very large."""
_MAX_DEPTH = 6


def find_left_out_skills(root: RootPath, places: Iterable[LeftOutPlace]) -> list[LeftOutSkills]:
    """Return those of some places that hold files called SKILL.md, with their numbers."""
    search = _SkillSearch()
    found = []
    for path, reason in sorted(places):
        here = os.path.join(os.fspath(root), path)
        count = search.count_skills(here)
        if count:
            target = _resolve(here) if reason == BEHIND_LINK else ""
            found.append(LeftOutSkills(path, reason, count, target))
    return found


def _resolve(path: str) -> str:
    """Return the path that a link leads to, or its own if that changed meanwhile."""
    try:
        return os.path.realpath(path)
    except OSError:
        return path


class _SkillSearch:
    """Counts skills below folders; stops after very many entries."""

    def __init__(self) -> None:
        self._entries_left = _MAX_ENTRIES

    def count_skills(self, path: str) -> int:
        """Return the number of files called SKILL.md at or below a path."""
        if os.path.isfile(path):
            return int(os.path.basename(path) in SKILL_FILES)
        return self._count_below(path, _MAX_DEPTH)

    def _count_below(self, folder: str, depth: int) -> int:
        count = 0
        below: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._entries_left -= 1
                    if self._entries_left < 0:
                        return count
                    if entry.name in SKILL_FILES:
                        count += entry.is_file()
                    elif entry.is_symlink():
                        count += any(
                            os.path.isfile(os.path.join(entry.path, name)) for name in SKILL_FILES
                        )
                    elif entry.is_dir() and not is_ignored_by_default(entry.name, True):
                        below.append(entry.path)
        except OSError:  # it is gone, no folder, or not readable
            return count
        return count + sum(self._count_below(path, depth - 1) for path in below if depth)
