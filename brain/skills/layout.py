"""Which files under `skills` are skills, and where a new one goes.

Paths are relative to the section `skills`. A skill is the file SKILL.md of a
folder at any depth, a Markdown file at the top, or a Markdown file in a category,
which is a top-level folder without a SKILL.md of its own. Nothing under a name
that starts with `.` or `_` is a skill, nor are the files that people put beside
skills, such as a README.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..digest import blob_id
from ..errors import InvalidInput, printable
from .slug import fold, is_device, is_slug

SKILL_FILES = ("SKILL.md", "skill.md", "Skill.md", "SKILL.MD")
"""The spellings of SKILL.md that clients read."""
_IN_FOLDERS = tuple(f"/{spelling}" for spelling in SKILL_FILES)
"""How the path of a SKILL.md in a folder ends; `myskill.md` is none."""
_ASCENDING = sorted(SKILL_FILES)
LAYOUTS = ("directory", "flat")
_COMPANIONS = frozenset(
    (
        *("readme", "license", "licence", "changelog", "contributing", "notice", "authors"),
        *("code_of_conduct", "code-of-conduct", "description"),
    )
)
_SUFFIX = ".md"
_USUAL = f"/{SKILL_FILES[0]}"


def classify(path: str, has_any: Callable[[Sequence[str]], bool]) -> str | None:
    """Return the fallback name of the skill at `path`, or None if it is none.

    `has_any` tells whether the section holds one of some paths, which ascend; it is
    asked at most once.
    """
    name = own_name(path)
    if name is None:
        return None
    category, slash, _ = path.rpartition("/")
    if not slash or path.endswith(_IN_FOLDERS):
        return name
    if has_any([f"{category}/{spelling}" for spelling in _ASCENDING]):
        return None
    return name


def skill_paths(paths: Iterable[str]) -> dict[str, str]:
    """Return the skills among all `paths` of the section, each with its fallback name."""
    found: dict[str, str] = {}
    loose: dict[str, list[str]] = {}
    for path in paths:
        name = own_name(path)
        if name is None:
            continue
        found[path] = name
        if "/" in path and not path.endswith(_IN_FOLDERS):
            loose.setdefault(path.partition("/")[0], []).append(path)
    for category, files in loose.items():
        if any(f"{category}/{spelling}" in found for spelling in SKILL_FILES):
            for path in files:
                del found[path]
    return found


def slug_of(path: str) -> str:
    """Return the slug of the skill at `path`; never fails.

    Where no letter or digit is left of the name, or Windows has another use for it,
    the slug is `skill-` and the first digits of the digest of the name.
    """
    name = name_of(path)
    if is_slug(name) and not is_device(name):
        return name
    slug = fold(name)
    if slug and not is_device(slug):
        return slug
    return "skill-" + blob_id(name.encode("utf-8", "surrogatepass")).hex()[:8]


def category_of(path: str) -> str:
    """Return the folders above the skill at `path`, its own left out; "" if there are none."""
    folder, _, file = path.rpartition("/")
    return folder.rpartition("/")[0] if file in SKILL_FILES else folder


def new_path(slug: str, layout: str) -> str:
    """Return where a new skill goes; a flat file that would not count as a skill gets a folder.

    Raises `InvalidInput` with code `bad_layout`.
    """
    if layout not in LAYOUTS:
        raise InvalidInput(
            f"no such layout: {printable(layout)}",
            code="bad_layout",
            hint=f"use one of: {', '.join(LAYOUTS)}",
        )
    if layout == "flat" and slug not in _COMPANIONS:
        return slug + _SUFFIX
    return f"{slug}/{SKILL_FILES[0]}"


def candidates(slug: str) -> list[str]:
    """Return the conventional paths of a skill, the likeliest first."""
    return [*(f"{slug}/{spelling}" for spelling in SKILL_FILES), slug + _SUFFIX]


def name_of(path: str) -> str:
    """Return the name that its place gives the skill at `path`: of its folder, or of its file."""
    folder, slash, file = path.rpartition("/")
    if slash and file in SKILL_FILES:
        return folder.rpartition("/")[2]
    return file[:-3] if file[-3:].lower() == _SUFFIX else file


def own_name(path: str) -> str | None:
    """Return the name of the skill at `path` as far as the path alone can tell."""
    if path[-9:] == _USUAL and "/." not in path and "/_" not in path and path[0] not in "._":
        return path[:-9].rpartition("/")[2]
    if path[-3:].lower() != _SUFFIX or path[0] in "._" or "/." in path or "/_" in path:
        return None
    folder, slash, file = path.rpartition("/")
    if not slash:
        return None if file[:-3].lower() in _COMPANIONS else file[:-3]
    if file in SKILL_FILES:
        return folder.rpartition("/")[2]
    if "/" in folder or file[:-3].lower() in _COMPANIONS:
        return None
    return file[:-3]
