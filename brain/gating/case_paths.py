"""Where cases of skills lie, and which of their documents agents never see."""

from __future__ import annotations

from ..digest import NO_DIGEST
from ..errors import InvalidInput
from ..skills import SKILLS_SECTION, skill_layout

CASES_FOLDER = "cases"
CASE_SUFFIX = ".yaml"
_FIELDS = (b"input", b"expect")
_EVOLVABLE_FOLDERS = ("memory/", "memories/", "prompts/")
_EVOLVABLE_FILES = ("MEMORY.md", "USER.md", "SOUL.md")


def is_case_path(path: str) -> bool:
    """Tell whether the document of a case may lie at a full path, also of a retired skill."""
    parts = path.split("/")
    return len(parts) >= 4 and parts[-2] == CASES_FOLDER and path.endswith(CASE_SUFFIX)


def slug_of_case(path: str) -> str:
    """Return the slug of the skill whose case lies at a full path, "" if there can be none."""
    if not is_case_path(path) or path.startswith(skill_layout.RETIRED_FOLDER):
        return ""
    return skill_layout.slug_from_name(path.split("/")[-3])


def is_in_cases(inner: str) -> bool:
    """Tell whether a path in the folder of a skill is that of cases, or below, at any depth.

    A file REFERENCES/SLUG/cases/NAME.yaml would be a case of another skill. Upper case counts
    too: some file systems do not tell it apart.
    """
    return CASES_FOLDER in inner.casefold().split("/")


def may_change(path: str) -> bool:
    """Tell whether a change that is learned may edit a file beside those of its own skill.

    Files of skills, of memory and of prompts may be; cases, the manifest and the trust file never.
    """
    if is_in_cases(path):
        return False
    return path.startswith(_EVOLVABLE_FOLDERS) or path in _EVOLVABLE_FILES or _is_of_skill(path)


def _is_of_skill(path: str) -> bool:
    """Tell whether a file lies in a folder skills, at whatever depth, as those of clients do."""
    return SKILLS_SECTION in path.split("/")[:-1]


def is_hidden_case(path: str, content: bytes) -> bool:
    """Tell whether a file is a case that agents never see: held-out, or not readable as one.

    Other files of a folder `cases` are hidden from nobody.
    """
    from .case_files import MAX_CASE_BYTES, parse_case

    if not is_case_path(path) or (
        len(content) <= MAX_CASE_BYTES and not all(field in content for field in _FIELDS)
    ):
        return False
    try:
        return parse_case("", path, NO_DIGEST, content).is_held_out
    except InvalidInput:
        return True


def new_case_path(folder: str, name: str) -> str:
    """Return the path of a case in the folder of a skill, which ends with a slash."""
    return f"{folder}{CASES_FOLDER}/{name}{CASE_SUFFIX}"


def usual_folder(slug: str) -> str:
    """Return the folder of a skill that has none yet, with a slash at the end."""
    return f"{SKILLS_SECTION}/{slug}/"
