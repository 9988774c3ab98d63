"""Where cases of skills lie, and which documents agents never see."""

from __future__ import annotations

from ...gating.case_types import MAX_CASE_BYTES
from ...skills import SKILLS_SECTION, skill_layout

CASES_FOLDER = "cases"
CASE_SUFFIX = ".yaml"


def slug_of_case(path: str) -> str:
    """Return the slug of the skill whose case lies at a full path, "" if there can be none."""
    parts = path.split("/")
    is_case = len(parts) >= 4 and parts[-2] == CASES_FOLDER and path.endswith(CASE_SUFFIX)
    if not is_case or path.startswith(skill_layout.RETIRED_FOLDER):
        return ""
    return skill_layout.slug_from_name(parts[-3])


def is_in_cases(inner: str) -> bool:
    """Tell whether a path in the folder of a skill is that of its cases, or below."""
    return inner.partition("/")[0].casefold() == CASES_FOLDER


def new_case_path(folder: str, name: str) -> str:
    """Return the path of a case in the folder of a skill, which ends with a slash."""
    return f"{folder}{CASES_FOLDER}/{name}{CASE_SUFFIX}"


def usual_folder(slug: str) -> str:
    """Return the folder of a skill that has none yet, with a slash at the end."""
    return f"{SKILLS_SECTION}/{slug}/"
