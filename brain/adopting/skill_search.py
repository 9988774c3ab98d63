"""Find the skills in a folder, at any depth and in any layout, and their places in a brain."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import NamedTuple

from .. import limits
from ..errors import printable_text
from ..objects import paths
from ..skills.skill_layout import SKILL_FILES, name_by_path_alone, outer_folders
from .layouts import HomeLayout, SkillFolders, default_skip_reason

MAX_SEARCHED = 1_000_000
"""Files and folders that one search lists."""
_SECTION = "skills/"


class SkillSearch(NamedTuple):
    """The skills of a folder.

    `folders` have a SKILL.md, the top folder as "". `left_out` counts the skills in each
    folder that the search leaves out. `is_complete` is False if the folder has
    more than `MAX_SEARCHED` files.
    """

    folders: tuple[str, ...]
    left_out: dict[str, int]
    is_complete: bool


def search_skills(root: Path, skip_reason: Callable[[str], str]) -> SkillSearch:
    """Find the skills below `root`; those below a path with a skip reason are only counted.

    Follows no links and reads no files. Folders that every brain ignores, such as
    `node_modules`, are not searched, nor are other disks.
    """
    found: dict[str, str | None] = {}
    walk = _list_folders(root, skip_reason)
    is_complete = True
    for listed in walk:
        if listed is None:
            is_complete = False
        elif listed.has_skill:
            found[listed.path] = listed.skipped_at
    folders = _drop_inner(found)
    left_out = Counter(at for folder in folders if (at := found[folder]) is not None)
    taken = tuple(folder for folder in folders if found[folder] is None)
    return SkillSearch(taken, dict(left_out), is_complete)


def _drop_inner(folders: Iterable[str]) -> tuple[str, ...]:
    """Return the folders of skills, without those that belong to another one of them."""
    known = {f"./{folder}".rstrip("/"): folder for folder in folders}
    texts = ((folder, f"{at}/{SKILL_FILES[0]}") for at, folder in known.items())
    return tuple(sorted(one for one, text in texts if known.keys().isdisjoint(outer_folders(text))))


class _ListedFolder(NamedTuple):
    """A folder; `skipped_at` is the skipped folder that it is or is in, None if it is in none."""

    path: str
    has_skill: bool
    skipped_at: str | None


def _list_folders(root: Path, skip_reason: Callable[[str], str]) -> Iterator[_ListedFolder | None]:
    """Yield the folders below `root`, and None at the end if there are too many."""
    waiting: list[tuple[str, str | None]] = [("", None)]
    remaining = MAX_SEARCHED
    device = root.stat().st_dev
    while waiting:
        folder, skipped_at = waiting.pop()
        try:
            with os.scandir(root / folder) as scanned:
                entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in scanned]
            if (root / folder).stat().st_dev != device:
                continue
        except OSError:  # reading the folder reports it, if it is to be adopted
            continue
        remaining -= len(entries)
        if remaining < 0:
            yield None
            return
        names = {name for name, is_folder in entries if not is_folder}
        yield _ListedFolder(folder, not names.isdisjoint(SKILL_FILES), skipped_at)
        for name, is_folder in entries:
            path = f"{folder}/{name}" if folder else name
            if is_folder and _is_searched(path, name):
                at = skipped_at if skipped_at is not None else path if skip_reason(path) else None
                waiting.append((path, at))


def _is_searched(path: str, name: str) -> bool:
    return not (
        paths.is_vcs_name(name)
        or default_skip_reason(name, True)
        or path.count("/") >= limits.MAX_PATH_DEPTH
    )


IsSameSkill = Callable[[str, str], bool]
"""Tells whether the skills in two folders have the same files."""


def add_skill_folders(
    layout: HomeLayout, folders: Iterable[str], is_same: IsSameSkill = lambda one, other: False
) -> HomeLayout:
    """Return a layout in which each of the skills in `folders` is taken whole or not at all.

    Of skills whose rules give them one path in a brain, the one of the first rule is taken,
    and the others are named in `other_skills`. Where the layout takes skills anywhere, those
    without a rule get their path below `skills/`, without the dots and underscores that hide
    a part of it. If that is the path of another skill, or inside of one, it keeps a
    `skills/` in front, or gets a number.
    """
    taken: dict[str, str] = {}
    above: dict[str, str] = {}
    left_out: dict[str, str] = {}
    others: list[str] = []
    for folder in sorted(folders, key=lambda one: (_rank(layout, one), one.count("/"), one)):
        target = layout.brain_path(f"{folder}/{SKILL_FILES[0]}" if folder else SKILL_FILES[0])
        if target is None or not is_skill_path(target):
            others += [folder] if folder else []
            continue
        place = paths.fold_name(target.rpartition("/")[0])
        found = map(taken.get, (place, *_places_above(place)))
        holder = next(filter(None, found), above.get(place))
        if holder is None:
            taken[place] = folder
            above |= dict.fromkeys(_places_above(place), folder)
        elif not folder.startswith(f"{holder}/"):
            which = "the same skill as" if is_same(folder, holder) else "its place is taken by"
            left_out[folder] = f"{which} {printable_text(holder)}"
    is_shared = sum(brain == _SECTION for _, brain in layout.rules) > 1
    layout = replace(layout, other_skills=left_out, skill_homes=taken if is_shared else {})
    if not layout.skills_anywhere:
        return layout
    places: dict[str, str] = {}
    for folder in sorted(others):
        outer = SkillFolders(places, frozenset()).brain_path(f"{folder}/{SKILL_FILES[0]}")
        if outer is None or not is_skill_path(outer):
            free = (one for one in _possible_places(folder) if _is_free(one, taken, above))
            places[folder] = next(free)
            place = paths.fold_name(places[folder])
            taken[place] = folder
            above |= dict.fromkeys(_places_above(place), folder)
    return replace(layout, skill_folders=SkillFolders.build(places))


def _rank(layout: HomeLayout, folder: str) -> int:
    return layout.rule_rank(f"{folder}/{SKILL_FILES[0]}" if folder else SKILL_FILES[0])


def _places_above(place: str) -> list[str]:
    return [place[:at] for at, char in enumerate(place) if char == "/"][1:]


def _is_free(place: str, taken: Mapping[str, str], above: Mapping[str, str]) -> bool:
    place = paths.fold_name(place)
    return place not in above and taken.keys().isdisjoint((place, *_places_above(place)))


def _possible_places(folder: str) -> Iterator[str]:
    yield _SECTION + _visible_path(folder.removeprefix(_SECTION))
    place = _SECTION + _visible_path(folder)
    yield place
    first, slash, rest = place.removeprefix(_SECTION).partition("/")
    for number in count(2):
        yield f"{place}-{number}"
        yield f"{_SECTION}{first}-{number}{slash}{rest}"


def is_skill_path(path: str) -> bool:
    """Tell whether a brain reads the SKILL.md at `path` as a skill, and no folder hides it."""
    is_visible = path.startswith(_SECTION) and "/." not in path and "/_" not in path
    return is_visible and name_by_path_alone(path) is not None


def _visible_path(folder: str) -> str:
    parts = (part.lstrip("._") for part in folder.split("/"))
    return "/".join(part or "skills" for part in parts)
