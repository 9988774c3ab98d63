"""skills_list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import ToolFailure, printable
from ...skills import index
from .tool import Answer

if TYPE_CHECKING:
    from ...brain import Brain
    from ...results import Selected, Skill

MOST_LISTED = 400
"""Skills listed at a time."""
MOST_TOKENS = 12_000
"""Tokens of the list where there are more."""
MOST_CHARS = MOST_TOKENS * index.BYTES_PER_TOKEN
"""Characters of all descriptions that are shown where there are fewer."""
MOST_FITTING = 20
"""Skills that are listed for a task."""
_LOOKED_THROUGH = 200
"""Skills that fit a task, of any category, among which those of one are found."""
_MOST_CATEGORIES = 200


def skills_list(brain: Brain, given: dict[str, Any]) -> Answer:
    """List skills: all, those of a category, or those that a task needs."""
    wanted = given.get("category", "").strip("/ ").lower()
    if given.get("task"):
        return _for_task(brain, given["task"], wanted)
    if not wanted and brain.index().skills > MOST_LISTED:
        return _fitted(brain)
    every = brain.skills()
    rows = [skill for skill in every if _is_of(skill, wanted)]
    if wanted and not rows:
        raise _no_category(wanted, every)
    shared = {slug for slug, times in Counter(skill.slug for skill in every).items() if times > 1}
    shown = rows[:MOST_LISTED]
    shown = [skill._replace(description=_cut(skill.description, len(shown))) for skill in shown]
    lines = [index.line(_called(skill, shared), skill.description) for skill in shown]
    if len(shown) < len(rows):
        lines.append(f"({len(shown)} of {len(rows)} skills: say what your task is to find others.)")
    return _answer(lines or [index.NO_SKILLS], shown, len(rows))


def _fitted(brain: Brain) -> Answer:
    """List very many skills, as what there is room for shows them best."""
    made = brain.index(budget=MOST_TOKENS)
    rows = [
        {"name": one.name, "description": one.description or "", "category": one.category}
        for one in index.parse(made.index)
    ]
    text = f"{made.index}\n(To find the ones you need, say what your task is.)"
    return Answer(text, {"count": made.skills + made.left_out, "skills": rows}, False)


def _for_task(brain: Brain, task: str, wanted: str) -> Answer:
    """List the skills that a task needs, the best first."""
    found = brain.selection(task, _LOOKED_THROUGH if wanted else MOST_FITTING)
    rows = [skill for skill in found.skills if _is_of(skill, wanted)][:MOST_FITTING]
    lines = [index.line(skill.slug, skill.description) for skill in rows]
    if not lines:
        lines = [index.NO_FIT if brain.index().skills else index.NO_SKILLS]
    if found.fallback:
        lines.append("(Found by their words alone: the embedder fails.)")
    return _answer(lines, rows, len(rows))


def _answer(lines: list[str], shown: Sequence[Skill | Selected], count: int) -> Answer:
    rows = [
        {
            "slug": skill.slug,
            "name": skill.name,
            "description": skill.description,
            "category": _category(skill),
        }
        for skill in shown
    ]
    return Answer("\n".join(lines), {"count": count, "skills": rows}, False)


def _cut(description: str, among: int) -> str:
    """Return what there is room for of a description, ending with a word."""
    room = MOST_CHARS // among
    if len(description) <= room:
        return description
    words = description[: room + 1].rpartition(" ")[0].rstrip()
    return (words or description[:room]) + index.CUT


def _category(skill: Skill | Selected) -> str:
    """Return the folders between skills/ and a skill, "" for none."""
    parts = skill.path.split("/")
    return "/".join(parts[1 : -2 if parts[-1].lower() == "skill.md" else -1])


def _is_of(skill: Skill | Selected, wanted: str) -> bool:
    """Tell whether a skill is of a category, in lower case; every one is of none."""
    return not wanted or _category(skill).lower() == wanted


def _called(skill: Skill, shared: set[str]) -> str:
    """Return by what a skill is found: its slug, or its path below skills/ if others share it."""
    return skill.path.partition("/")[2] if skill.slug in shared else skill.slug


def _categories(skills: list[Skill]) -> str:
    names = sorted({_category(skill) for skill in skills} - {""})
    return ", ".join(map(printable, names[:_MOST_CATEGORIES])) or "none"


def _no_category(wanted: str, skills: list[Skill]) -> ToolFailure:
    return ToolFailure(
        f"There is no category '{printable(wanted)}'.",
        code="no_category",
        hint=f"Categories: {_categories(skills)}.",
    )
