"""Survey the skills of the folder, and the files called SKILL.md that are no skills."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable

from ...objects import bundle as bundles
from ...objects.bundle import Bundle, Edits
from ...objects.tree_node import LINK
from ...results import LeftOutSkills, SkillSurvey
from ...skills import SKILLS_SECTION, skill_layout
from .. import derive
from ..core import working_copy
from ..open.session import Session

TOP, EXCLUDED_FOLDER, DEAD_LINK, IN_SKILL = "top", "hidden_folder", "link", "in_skill"


def survey_folder(session: Session) -> SkillSurvey:
    """Return what skills the folder has, recorded or not; reads no content.

    Raises `InvalidInput` for what a brain cannot hold.
    """
    scan = working_copy.scan_folder(session).scan
    kinds = {file.path: file.kind for file in scan.changed}
    paths = skill_layout.find_skill_paths(kinds)
    skills = {path for path in paths if kinds[path] != LINK}
    skill_folder = SKILLS_SECTION
    if not any(path.startswith(f"{SKILLS_SECTION}/") for path in kinds):
        skill_folder = skill_layout.new_skill_folder(skills)
    left_out = _find_other_texts(session, kinds.items(), skills)
    notices = working_copy.skipped_notices(scan.skipped)
    return SkillSurvey(len(skills), skill_folder, [*scan.left_out_skills, *left_out], notices)


def find_other_texts(session: Session, after: Bundle, edits: Edits) -> list[LeftOutSkills]:
    """Return the files called SKILL.md among the edits that are no skills."""
    texts = [(path, entry.kind) for path, entry in edits.items() if entry and _is_text(path)]
    links = [path for path, kind in texts if kind == LINK]
    others = {_link_target(session, path) for path in links} | {path for path, _ in texts}
    skills = {
        path
        for path in others
        if bundles.has_entry(session.nodes, after, path) and derive.is_skill(session, after, path)
    }
    return _find_other_texts(session, texts, skills)


def _find_other_texts(
    session: Session, entries: Iterable[tuple[str, int]], skills: set[str]
) -> list[LeftOutSkills]:
    """Return the files called SKILL.md that are no skills; links to one of `skills` are."""
    out = []
    for path, kind in sorted(entries):
        if not _is_text(path):
            continue
        if "/" not in path:
            out.append(LeftOutSkills(path, TOP))
        elif kind == LINK:
            if _link_target(session, path) not in skills:
                out.append(LeftOutSkills(path, DEAD_LINK))
        elif skill_layout.find_excluded_folder(path):
            out.append(LeftOutSkills(path, EXCLUDED_FOLDER))
        elif path not in skills:
            out.append(LeftOutSkills(path, IN_SKILL))
    return out


def _is_text(path: str) -> bool:
    return path.endswith(skill_layout.SKILL_FILES) and (
        path in skill_layout.SKILL_FILES or path.endswith(skill_layout.FOLDER_SUFFIXES)
    )


def _link_target(session: Session, path: str) -> str:
    """Return the full path that a link inside the brain leads to, "" if it is gone."""
    try:
        target = os.readlink(session.root / path)
    except OSError:
        return ""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
