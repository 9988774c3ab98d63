"""Which files under `skills` are skills, and where a new one goes.

Paths are relative to the section `skills`. A skill is the file SKILL.md of a
folder at any depth, a Markdown file at the top, or a Markdown file in a category,
which is a top-level folder without a SKILL.md of its own. Nothing under a name
that starts with `.` or `_` is a skill, nor are companion files such as a README.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..digest import blob_id
from ..errors import InvalidInput, printable_text
from .slug import fold_to_slug, is_slug, is_windows_device

SKILL_FILES = ("SKILL.md", "skill.md", "Skill.md", "SKILL.MD")
"""The spellings of SKILL.md that clients read."""
_FOLDER_SUFFIXES = tuple(f"/{spelling}" for spelling in SKILL_FILES)
"""Ends of the path of a SKILL.md in a folder; `myskill.md` is not one."""
_SORTED_SKILL_FILES = sorted(SKILL_FILES)
LAYOUTS = ("directory", "flat")
_COMPANION_NAMES = frozenset(
    (
        *("readme", "license", "licence", "changelog", "contributing", "notice", "authors"),
        *("code_of_conduct", "code-of-conduct", "description"),
    )
)
_MARKDOWN_SUFFIX = ".md"
_USUAL_SUFFIX = f"/{SKILL_FILES[0]}"


def match_skill_path(path: str, has_any: Callable[[Sequence[str]], bool]) -> str | None:
    """Return the fallback name of the skill at `path`, None if that is not a skill.

    `has_any` tells whether the section holds one of some ascending paths; it is called
    at most once.
    """
    name = name_by_path_alone(path)
    if name is None:
        return None
    category, slash, _ = path.rpartition("/")
    if not slash or path.endswith(_FOLDER_SUFFIXES):
        return name
    if has_any([f"{category}/{spelling}" for spelling in _SORTED_SKILL_FILES]):
        return None
    return name


def find_skill_paths(paths: Iterable[str]) -> dict[str, str]:
    """Return the skills among all `paths` of the section, each with its fallback name."""
    found: dict[str, str] = {}
    files_by_category: dict[str, list[str]] = {}
    for path in paths:
        name = name_by_path_alone(path)
        if name is None:
            continue
        found[path] = name
        if "/" in path and not path.endswith(_FOLDER_SUFFIXES):
            files_by_category.setdefault(path.partition("/")[0], []).append(path)
    for category, files in files_by_category.items():
        if any(f"{category}/{spelling}" in found for spelling in SKILL_FILES):
            for path in files:
                del found[path]
    return found


def slug_from_path(path: str) -> str:
    """Return the slug of the skill at `path`; never fails.

    If no letter or digit is left of the name, or it is a Windows device, the slug is
    `skill-` and the first digits of the digest of the name.
    """
    name = name_from_path(path)
    if is_slug(name) and not is_windows_device(name):
        return name
    slug = fold_to_slug(name)
    if slug and not is_windows_device(slug):
        return slug
    return "skill-" + blob_id(name.encode("utf-8", "surrogatepass")).hex()[:8]


def category_from_path(path: str) -> str:
    """Return the folders above the skill at `path`, without its own; "" if there are none."""
    folder, _, file = path.rpartition("/")
    return folder.rpartition("/")[0] if file in SKILL_FILES else folder


def new_skill_path(slug: str, layout: str) -> str:
    """Return the path of a new skill; one named like a companion file gets a folder.

    Raises `InvalidInput` with code `bad_layout`.
    """
    if layout not in LAYOUTS:
        raise InvalidInput(
            f"no such layout: {printable_text(layout)}",
            code="bad_layout",
            hint=f"use one of: {', '.join(LAYOUTS)}",
        )
    if layout == "flat" and slug not in _COMPANION_NAMES:
        return slug + _MARKDOWN_SUFFIX
    return f"{slug}/{SKILL_FILES[0]}"


def candidate_paths(slug: str) -> list[str]:
    """Return the conventional paths of a skill, the likeliest first."""
    return [*(f"{slug}/{spelling}" for spelling in SKILL_FILES), slug + _MARKDOWN_SUFFIX]


def name_from_path(path: str) -> str:
    """Return the name of the skill at `path` by its folder, or by its file."""
    folder, slash, file = path.rpartition("/")
    if slash and file in SKILL_FILES:
        return folder.rpartition("/")[2]
    return file[:-3] if file[-3:].lower() == _MARKDOWN_SUFFIX else file


def name_by_path_alone(path: str) -> str | None:
    """Return the name of the skill at `path`, None if the path alone excludes one."""
    if path[-9:] == _USUAL_SUFFIX and "/." not in path and "/_" not in path and path[0] not in "._":
        return path[:-9].rpartition("/")[2]
    if path[-3:].lower() != _MARKDOWN_SUFFIX or path[0] in "._" or "/." in path or "/_" in path:
        return None
    folder, slash, file = path.rpartition("/")
    if not slash:
        return None if file[:-3].lower() in _COMPANION_NAMES else file[:-3]
    if file in SKILL_FILES:
        return folder.rpartition("/")[2]
    if "/" in folder or file[:-3].lower() in _COMPANION_NAMES:
        return None
    return file[:-3]
