"""Which files of a brain are skills, where a new one goes, and by which address one is found.

Paths are full. In every section a skill is the SKILL.md of a folder, at any depth. In the
section `skills` so is a Markdown file at its top, or in a category, which is a folder
there without a SKILL.md of its own; a README and other companion files are not.

A SKILL.md below the folder of another is a skill of its own: collections have one at their top.
Below a folder of resources in there, such as `examples`, it is a file of the outer skill.

Nothing below a folder whose name starts with `_` or `.` is a skill, nor below folders of
packages and caches. There are two exceptions: the `skills` folder that a client keeps in a
hidden one, such as `.claude/skills`, and the hidden folders of a catalogue of skills.

The address of a skill is the text by which every command and tool finds it again: its slug, or
where several skills share a slug the path of the folder, or of the file of a flat skill:
`tools/search` for `skills/tools/search/SKILL.md`. A path that a line of the index cannot show, or
that would open another skill, is replaced by the slug and eight digits of the digest of the path:
`search~1f2e3d4c`. So an address depends on nothing but the paths of the skills that share its slug.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from .. import limits
from ..digest import blob_id
from ..errors import InvalidInput
from ..util.text import lazy_pattern
from . import SKILLS_SECTION
from .slug import fold_to_slug, is_slug, is_windows_device
from .visible_text import fold_to_line

SKILL_FILES = ("SKILL.md", "skill.md", "Skill.md", "SKILL.MD")
"""The spellings of SKILL.md that clients read."""
FOLDER_SUFFIXES = tuple(f"/{spelling}" for spelling in SKILL_FILES)
"""Ends of the path of a SKILL.md in a folder; `myskill.md` is not one."""
LAYOUTS = ("directory", "flat")
RETIRED_FOLDER = f"{SKILLS_SECTION}/_retired/"
"""Where retired skills are kept, each in a folder of its slug; nothing there is a skill."""
_COMPANION_NAMES = frozenset(
    (
        *("readme", "license", "licence", "changelog", "contributing", "notice", "authors"),
        *("code_of_conduct", "code-of-conduct", "description"),
    )
)
_MARKDOWN_SUFFIX = ".md"
_USUAL_SUFFIX = f"/{SKILL_FILES[0]}"
_SECTION_PREFIX = f"{SKILLS_SECTION}/"
_CLIENT_FOLDERS = frozenset((SKILLS_SECTION, "skill"))
"""Folders in which clients keep skills, as in `.claude/skills`."""
_CATALOGUE_FOLDERS = frozenset((".curated", ".experimental", ".system"))
"""Hidden folders in a folder `skills` whose skills clients show."""
_RESOURCE_FOLDERS = frozenset(
    (
        *("assets", "evals", "example", "examples", "fixtures", "reference", "references"),
        *("resources", "sample", "samples", "scripts", "template", "templates", "testdata"),
        "tests",
    )
)
"""Folders in a skill whose files are its own, whatever they are called."""
_FOREIGN_FOLDERS = frozenset(
    (".brain", ".git", ".cache", ".nox", ".tox", ".trash", ".venv", "node_modules")
)


def match_skill_path(path: str, has_any: Callable[[Sequence[str]], bool]) -> str | None:
    """Return the fallback name of the skill at `path`, None if that is not a skill.

    `has_any` tells whether the section of the path holds one of some full, ascending paths;
    it is called at most once.
    """
    name = name_by_path_alone(path)
    if name is None:
        return None
    owners = sorted(_owner_texts(path))
    return None if owners and has_any(owners) else name


def outer_folders(path: str) -> list[str]:
    """Return the folders above a skill's text to which it belongs if they have a SKILL.md.

    Of the SKILL.md of a folder, those are the ones above its innermost folder of resources;
    of another file, those in the section.
    """
    parts = path.split("/")[:-1]
    if not path.endswith(FOLDER_SUFFIXES):
        return ["/".join(parts[:end]) for end in range(2, len(parts) + 1)]
    ends = (at for at, name in enumerate(parts) if name.lower() in _RESOURCE_FOLDERS)
    return ["/".join(parts[:end]) for end in range(1, max(ends, default=0) + 1)]


def _owner_texts(path: str) -> Iterator[str]:
    folders = (folder for folder in outer_folders(path) if folder != SKILLS_SECTION)
    texts = (f"{folder}/{name}" for folder in folders for name in SKILL_FILES)
    return (text for text in texts if name_by_path_alone(text) is not None)


def find_skill_paths(paths: Iterable[str]) -> dict[str, str]:
    """Return the skills among all `paths` of a section, each with its fallback name."""
    named = ((path, name_by_path_alone(path)) for path in paths)
    found = {path: name for path, name in named if name is not None}
    inner = [path for path in found if path.count("/") > 1]
    for path in [path for path in inner if not found.keys().isdisjoint(_owner_texts(path))]:
        del found[path]
    return found


def slug_from_path(path: str) -> str:
    """Return the slug of the skill at `path`; never fails."""
    return slug_from_name(name_from_path(path))


def slug_from_name(name: str) -> str:
    """Return the slug of a skill by the name of its folder, or of its file without the ending.

    If no letter or digit is left of the name, or it is a Windows device, the slug is
    `skill-` and the first digits of the digest of the name.
    """
    if is_slug(name) and not is_windows_device(name):
        return name
    slug = fold_to_slug(name)
    if slug and not is_windows_device(slug):
        return slug
    return "skill-" + blob_id(name.encode("utf-8", "surrogatepass")).hex()[:8]


def category_from_path(path: str) -> str:
    """Return the folders above the skill at `path`, without its own; "" if there are none.

    Those of the section `skills` are relative to it.
    """
    folder, _, file = path.removeprefix(_SECTION_PREFIX).rpartition("/")
    return folder.rpartition("/")[0] if file in SKILL_FILES else folder


def new_skill_folder(skill_paths: Iterable[str]) -> str:
    """Return the folder for new skills of a brain without a section `skills`.

    That is the folder of a client, such as `.agents/skills`, if it holds all of the given
    skills, and else `skills`.
    """
    common = ""
    for path in skill_paths:
        folders = path.split("/")[:-2]
        ends = (end for end, name in enumerate(folders, 1) if name in _CLIENT_FOLDERS)
        folder = "/".join(folders[: next(ends, 0)])
        if not folder or folder != (common or folder):
            return SKILLS_SECTION
        common = folder
    return common or SKILLS_SECTION


def new_skill_path(slug: str, layout: str) -> str:
    """Return the path of a new skill; one named like a companion file gets a folder.

    Raises `InvalidInput` with code `bad_layout`.
    """
    if layout not in LAYOUTS:
        raise InvalidInput(
            f"there is no layout {layout}",
            code="bad_layout",
            hint=f"use one of: {', '.join(LAYOUTS)}",
        )
    if layout == "flat" and slug not in _COMPANION_NAMES:
        return slug + _MARKDOWN_SUFFIX
    return f"{slug}/{SKILL_FILES[0]}"


def name_from_path(path: str) -> str:
    """Return the name of the skill at `path` by its folder, or by its file."""
    folder, slash, file = path.rpartition("/")
    if slash and file in SKILL_FILES and folder != SKILLS_SECTION:
        return folder.rpartition("/")[2]
    return file[:-3] if file[-3:].lower() == _MARKDOWN_SUFFIX else file


def name_by_path_alone(path: str) -> str | None:
    """Return the name of the skill at `path`, None if the path alone excludes one."""
    if path[-9:] == _USUAL_SUFFIX:  # nearly all skills: the general case below is slow
        folder = path[:-9]
        if (
            ("/." not in path and "/_" not in path and path[0] not in "._")
            and folder != SKILLS_SECTION
            and "node_modules" not in path
        ):
            return folder.rpartition("/")[2]
    elif path[-3:].lower() != _MARKDOWN_SUFFIX:
        return None
    folder, slash, file = path.rpartition("/")
    if slash and file in SKILL_FILES and folder != SKILLS_SECTION:
        return None if find_excluded_folder(path) else folder.rpartition("/")[2]
    if not path.startswith(_SECTION_PREFIX) or "/." in path or "/_" in path:
        return None
    if folder.count("/") > 1 or file[:-3].lower() in _COMPANION_NAMES:
        return None
    return file[:-3]


def find_excluded_folder(path: str) -> str:
    """Return the first folder above `path` below which nothing is a skill, "" if there is none."""
    folders = path.split("/")[:-1]
    for place, name in enumerate(folders):
        hidden = name[0] == "."
        in_catalogue = hidden and name in _CATALOGUE_FOLDERS and place
        if name in _FOREIGN_FOLDERS or name[0] == "_":
            return name
        if not hidden or (in_catalogue and folders[place - 1] == SKILLS_SECTION):
            continue
        if _CLIENT_FOLDERS.isdisjoint(folders[place + 1 :]):
            return name
    return ""


_DIGEST_DIGITS = 8
_DIGEST_ADDRESS = lazy_pattern(rf"([a-z0-9-]+)~[0-9a-f]{{{_DIGEST_DIGITS}}}")
_SEPARATORS = lazy_pattern(r"[:,] | \(|[▸▹]")
"""What separates the parts of a line or of a list of names."""


def address_group(slug: str, group: Collection[str]) -> dict[str, str]:
    """Return the addresses of all skills that share a slug, given and keyed by full path."""
    if len(group) == 1:
        return dict.fromkeys(group, slug)
    paths = set(group)
    return {path: _choose_address(slug, path, paths) for path in group}


def digest_address(slug: str, path: str) -> str:
    """Return the address that a skill has whatever other skills there are."""
    digest = blob_id(path.encode("utf-8", "surrogatepass")).hex()
    return f"{slug}~{digest[:_DIGEST_DIGITS]}"


def slug_of_digest_address(text: str) -> str:
    """Return the slug in a digest address, "" if `text` is not one."""
    found = _DIGEST_ADDRESS().fullmatch(text)
    return found[1] if found else ""


def path_candidates(text: str) -> list[str]:
    """Return the full paths of skills that a path may mean, the one that it means first.

    A path may be full or below skills/, that of the folder or of the file, and may lack
    the ending of a flat skill.
    """
    text = text.removeprefix("./").rstrip("/")
    places = (text, _SECTION_PREFIX + text)
    files = [place for place in places if place.lower().endswith(_MARKDOWN_SUFFIX)]
    return files + [
        candidate
        for place in places
        for candidate in (
            *(f"{place}/{spelling}" for spelling in SKILL_FILES),
            place + _MARKDOWN_SUFFIX,
        )
    ]


def split_version(text: str) -> tuple[str, str]:
    """Split SKILL@VERSION; the version is "" if none is given."""
    skill, at_sign, version = text.rpartition("@")
    if not at_sign or not skill or "/" in version:
        return text, ""
    return skill, version


def _choose_address(slug: str, path: str, group: set[str]) -> str:
    for text in _path_addresses(path):
        meant = (one for one in path_candidates(text) if one in group)
        if _is_plain(text) and next(meant, None) == path:
            return text
    return digest_address(slug, path)


def _path_addresses(path: str) -> Iterator[str]:
    """Yield the texts that may address the skill at a full path, the best first."""
    folder, _, file = path.rpartition("/")
    if file in SKILL_FILES and not folder.lower().endswith(_MARKDOWN_SUFFIX):
        yield folder.removeprefix(_SECTION_PREFIX)
        yield folder
    yield path.removeprefix(_SECTION_PREFIX)
    yield path


def _is_plain(text: str) -> bool:
    """Tell whether a line of the index shows a path as it is, and a command takes it so."""
    return (
        "/" in text
        and text[0] != "-"
        and "@" not in text.rpartition("/")[2]
        and len(text) <= limits.MAX_SKILL_NAME_CHARS
        and fold_to_line(text) == text
        and not _SEPARATORS().search(text)
    )
