"""skills_list and skill_view."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ...errors import ToolFailure, printable
from ...skills import index
from ...skills.text import clean
from .tool import Answer

if TYPE_CHECKING:
    from ...brain import Brain
    from ...results import Skill

MOST_LISTED = 400
"""Skills listed at a time."""
MOST_FITTING = 20
"""Skills that are listed for a task."""
_LOOKED_THROUGH = 200
"""Skills that fit a task, of any category, among which those are found."""
MOST_SHOWN = 200_000
"""Characters of one file that are shown."""


def skills_list(brain: Brain, given: dict[str, Any]) -> Answer:
    """List skills: all, those of a category, or those that a task needs."""
    every = brain.skills()
    wanted = given.get("category", "").strip("/ ").lower()
    rows = [skill for skill in every if not wanted or category_of(skill.path).lower() == wanted]
    if wanted and not rows:
        raise _no_category(wanted, every)
    if given.get("task"):
        rows = _fitting(brain, given["task"], rows)
    shown = rows[:MOST_LISTED]
    shared = {slug for slug, times in Counter(skill.slug for skill in every).items() if times > 1}
    lines = [index.line(_called(skill, shared), skill.description) for skill in shown]
    if not lines:
        lines = ["(no skill fits this task)" if every else index.NO_SKILLS]
    if len(shown) < len(rows):
        lines.append(
            f"({len(shown)} of {len(rows)} skills: name a category, or say what your task is.)"
        )
        lines.append(f"Categories: {_categories(every)}")
    data = {"count": len(rows), "skills": [_row(skill) for skill in shown]}
    return Answer("\n".join(lines), data, False)


def skill_view(brain: Brain, given: dict[str, Any]) -> Answer:
    """Read a skill, or one of its files, now or at an earlier version."""
    name, version = given["name"], given.get("version", "")
    found = brain.read_skill(f"{name}@{version}" if version != "" else name, file_of(given))
    shown = _shown(found.content)
    data = {
        "slug": found.slug,
        "name": found.name,
        "description": found.description,
        "version": found.version,
        "path": found.path,
        "snapshot": found.snapshot,
        "file": found.file,
        "content": shown,
        "files": found.files,
    }
    files = ", ".join(map(printable, found.files))
    if files and not found.file:
        shown += f"\n\nFiles, to be read with file_path: {files}"
    return Answer(shown, data, False)


def file_of(given: dict[str, Any]) -> str:
    """Return which file of a skill is meant, "" for its own text."""
    path: str = given.get("file_path", "")
    return "" if path == "SKILL.md" else path


def category_of(path: str) -> str:
    """Return the folders between skills/ and a skill at a full path, "" for none."""
    parts = path.split("/")
    return "/".join(parts[1 : -2 if parts[-1].lower() == "skill.md" else -1])


def _fitting(brain: Brain, task: str, rows: list[Skill]) -> list[Skill]:
    """Return those of the skills that a task needs, the best first."""
    there = {skill.path: skill for skill in rows}
    ranked = brain.select(task, _LOOKED_THROUGH)
    return [there[one.path] for one in ranked if one.path in there][:MOST_FITTING]


def _called(skill: Skill, shared: set[str]) -> str:
    """Return by what a skill is found: its slug, or its path below skills/ if others share it."""
    inner = skill.path.partition("/")[2]
    return inner if skill.slug in shared else skill.slug


def _row(skill: Skill) -> dict[str, Any]:
    return {
        "slug": skill.slug,
        "name": skill.name,
        "description": skill.description,
        "version": skill.version,
        "category": category_of(skill.path),
    }


def _categories(skills: list[Skill]) -> str:
    names = sorted({category_of(skill.path) for skill in skills} - {""})
    return ", ".join(map(printable, names[:200])) or "none"


def _no_category(wanted: str, skills: list[Skill]) -> ToolFailure:
    return ToolFailure(
        f"There is no category '{printable(wanted)}'.",
        code="no_category",
        hint=f"Categories: {_categories(skills)}.",
    )


def _shown(content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return f"(not a text: {len(content)} bytes)"
    text = clean(text)
    if len(text) <= MOST_SHOWN:
        return text
    return f"{text[:MOST_SHOWN]}\n(cut: {MOST_SHOWN} of {len(text)} characters)"
