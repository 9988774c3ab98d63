"""The tool manage_skills: list and delete the skills that run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ...errors import ToolFailure, printable_text
from ...programs.program import slug_of_tool, tool_name
from ...skills.visible_text import fold_to_line
from .case_guard import refuse_to_remove_cases
from .tool import MAX_LINE_CHARS, ToolResult

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...results import SkillProgram

Arguments = dict[str, Any]
MAX_LISTED = 200
_LESSON = re.compile(r"\b(?:lessons?|learn(?:ed|t)|remember(?:ed)?|preferences?)\b", re.IGNORECASE)
STATUS_TEXTS = {
    "not_admitted": "not admitted",
    "proposed": "waits for a person to accept it",
    "not_tried": "not tried on this machine",
    "changed": "changed in the folder since",
    "unusable": "its files cannot be used",
}
"""By the status of a skill that does not run: why."""
LESSONS_ANSWER = (
    "Lessons, preferences and facts are memory, not skills: read them with memory, action read, "
    "target memory or user. Procedures that you wrote down are in skills_list."
)


def manage_skills(brain: Brain, arguments: Arguments) -> ToolResult:
    """List the skills that run, or delete one."""
    if arguments["action"] == "delete":
        return _delete(brain, arguments.get("name", ""))
    query = arguments.get("query", "")
    if _LESSON.search(f"{query} {arguments.get('name', '')}"):
        return ToolResult(LESSONS_ANSWER, {"skills": [], "count": 0}, False)
    words = query.lower().split()
    found = [skill for skill in brain.programs.list() if _has_words(skill, words)]
    lines = [_line(skill) for skill in found[:MAX_LISTED]]
    if len(found) > MAX_LISTED:
        lines.append(f"({MAX_LISTED} of {len(found)} are shown; give words as query.)")
    text = "\n".join(lines) or "You have acquired no skill that runs. create_skill makes one."
    data = {"skills": [_data(skill) for skill in found[:MAX_LISTED]], "count": len(found)}
    return ToolResult(text, data, False)


def _delete(brain: Brain, name: str) -> ToolResult:
    slug = slug_of_tool(name)
    if slug not in [skill.slug for skill in brain.programs.list()]:
        raise ToolFailure(
            f"You have no skill that runs called '{printable_text(name, 80)}'.",
            code="no_skill",
            hint="manage_skills with action list names them.",
        )
    refuse_to_remove_cases(brain, slug)
    removed = brain.skills.delete(slug)
    text = f"Deleted {tool_name(slug)}; its history stays (snapshot {removed.snapshot[:12]})."
    return ToolResult(text, {"slug": slug, "snapshot": removed.snapshot}, True)


def _has_words(skill: SkillProgram, words: list[str]) -> bool:
    text = f"{skill.slug} {tool_name(skill.slug)} {skill.description}".lower()
    return all(word in text for word in words)


def _line(skill: SkillProgram) -> str:
    reason = STATUS_TEXTS.get(skill.status)
    state = f" [does not run: {reason}]" if reason else ""
    description = printable_text(fold_to_line(skill.description), MAX_LINE_CHARS)
    return f"▸ {tool_name(skill.slug)} (version {skill.version}){state}: {description}"


def _data(skill: SkillProgram) -> dict[str, Any]:
    return {
        "name": tool_name(skill.slug),
        "slug": skill.slug,
        "version": str(skill.version),
        "description": skill.description,
        "status": skill.status,
    }
