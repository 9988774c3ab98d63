"""The tools skills_list and skill_view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import ToolFailure, printable_text
from ...skills import index_lines
from ...skills.visible_text import ELLIPSIS, clean_text
from .tool import ToolResult, pick_fields

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...results import Selected, Similar, Skill


MAX_LISTED_SKILLS = 400
"""Skills listed one by one; more are listed as the index, under a budget."""
MAX_LIST_TOKENS = 12_000
"""Budget of that index, in tokens."""
MAX_DESCRIPTIONS_CHARS = MAX_LIST_TOKENS * index_lines.BYTES_PER_TOKEN
"""Characters of all descriptions in a list of single skills."""
MAX_TASK_SKILLS = 20
"""Skills listed for a task."""
_TASK_CANDIDATES = 200
"""Skills ranked for a task, of any category, before those of one category are picked."""
_MAX_CATEGORIES = 200


def skills_list(brain: Brain, arguments: dict[str, Any]) -> ToolResult:
    """List skills: all, those of a category, or the best for a task."""
    category = arguments.get("category", "").strip("/ ").lower()
    if arguments.get("task"):
        return _list_for_task(brain, arguments["task"], category)
    if not category and brain.prompt.build_index().skills > MAX_LISTED_SKILLS:
        return _list_as_index(brain)
    every = brain.skills.list()
    matching = [skill for skill in every if _is_in_category(skill, category)]
    if category and not matching:
        raise _no_category_failure(category, every)
    shown = matching[:MAX_LISTED_SKILLS]
    shown = [
        skill._replace(description=_truncate_description(skill.description, len(shown)))
        for skill in shown
    ]
    lines = [skill_line(skill) for skill in shown]
    if len(shown) < len(matching):
        lines.append(
            f"({len(shown)} of {len(matching)} skills: say what your task is to find others.)"
        )
    return _list_result(lines or [index_lines.NO_SKILLS], shown, len(matching))


def _list_as_index(brain: Brain) -> ToolResult:
    """List very many skills as the index under a budget."""
    index = brain.prompt.build_index(budget=MAX_LIST_TOKENS)
    skills = [
        {
            "name": line.name or line.address,
            "description": line.description or "",
            "category": line.category,
            "address": line.address,
        }
        for line in index_lines.parse_index(index.index)
    ]
    text = f"{index.index}\n(To find the ones you need, say what your task is.)"
    return ToolResult(text, {"count": index.skills + index.left_out, "skills": skills}, False)


def _list_for_task(brain: Brain, task: str, category: str) -> ToolResult:
    """List the skills that fit a task, the best first."""
    ranking = brain.skills.rank(task, _TASK_CANDIDATES if category else MAX_TASK_SKILLS)
    skills = [skill for skill in ranking.skills if _is_in_category(skill, category)]
    skills = skills[:MAX_TASK_SKILLS]
    lines = [skill_line(skill) for skill in skills]
    if not lines:
        lines = [
            index_lines.NO_MATCH if brain.prompt.build_index().skills else index_lines.NO_SKILLS
        ]
    if ranking.fallback:
        lines.append("(Found by their words alone: the embedder fails.)")
    return _list_result(lines, skills, len(skills))


def _list_result(lines: list[str], shown: Sequence[Skill | Selected], count: int) -> ToolResult:
    skills = [
        {
            **pick_fields(skill, "slug", "name", "description", "address"),
            "category": _skill_category(skill),
        }
        for skill in shown
    ]
    return ToolResult("\n".join(lines), {"count": count, "skills": skills}, False)


def skill_line(skill: Skill | Selected | Similar) -> str:
    """Return the line of a skill in a list."""
    name = index_lines.differing_name(skill.slug, skill.name)
    return index_lines.format_line(skill.address, name, skill.description)


def _truncate_description(description: str, skill_count: int) -> str:
    """Return a description cut, after a word, to its share of the characters."""
    max_chars = MAX_DESCRIPTIONS_CHARS // skill_count
    if len(description) <= max_chars:
        return description
    words = description[: max_chars + 1].rpartition(" ")[0].rstrip()
    return (words or description[:max_chars]) + ELLIPSIS


def _skill_category(skill: Skill | Selected) -> str:
    """Return the folders between skills/ and the skill, "" if there are none."""
    parts = skill.path.split("/")
    return "/".join(parts[1 : -2 if parts[-1].lower() == "skill.md" else -1])


def _is_in_category(skill: Skill | Selected, category: str) -> bool:
    """Tell whether a skill is in a category, given in lower case; "" matches every skill."""
    return not category or _skill_category(skill).lower() == category


def _category_names(skills: list[Skill]) -> str:
    names = sorted({_skill_category(skill) for skill in skills} - {""})
    return ", ".join(map(printable_text, names[:_MAX_CATEGORIES])) or "none"


def _no_category_failure(category: str, skills: list[Skill]) -> ToolFailure:
    return ToolFailure(
        f"There is no category '{printable_text(category)}'.",
        code="no_category",
        hint=f"Categories: {_category_names(skills)}.",
    )


MAX_FILE_CHARS = 200_000
"""Characters of a result, with the file and the names of other files."""
MAX_NAMED_FILES = 200
"""Files of a skill listed by name."""
_CUT_NOTE_CHARS = 60
"""Characters reserved for the note that a file was cut."""


def skill_view(brain: Brain, arguments: dict[str, Any]) -> ToolResult:
    """Read a skill, or one of its files, now or at an earlier version."""
    name, version = arguments["name"], arguments.get("version", "")
    skill_file = brain.skills.read_file(
        f"{name}@{version}" if version != "" else name, file_argument(arguments)
    )
    files = _file_list(skill_file.files) if not skill_file.file else ""
    shown = text_for_model(skill_file.content, MAX_FILE_CHARS - len(files))
    names = ("slug", "name", "description", "version", "path", "snapshot", "file")
    data = {**pick_fields(skill_file, *names), "content": shown, "files": skill_file.files}
    return ToolResult(shown + files, data, False)


def file_argument(arguments: dict[str, Any]) -> str:
    """Return the requested file of a skill, "" for SKILL.md."""
    path: str = arguments.get("file_path", "")
    return "" if path == "SKILL.md" else path


def text_for_model(content: bytes, max_chars: int = MAX_FILE_CHARS) -> str:
    """Return a file as text for a model: without invisible characters, and cut if too long."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return f"(not a text: {len(content)} bytes)"
    text = clean_text(text)
    if len(text) <= max_chars:
        return text
    shown_chars = max_chars - _CUT_NOTE_CHARS
    return f"{text[:shown_chars]}\n(cut: {shown_chars} of {len(text)} characters)"


def _file_list(files: Sequence[str]) -> str:
    """Return the line that names the files of a skill, at most `MAX_NAMED_FILES`."""
    if not files:
        return ""
    names = ", ".join(map(printable_text, files[:MAX_NAMED_FILES]))
    more = f" ({MAX_NAMED_FILES} of {len(files)} files)" if len(files) > MAX_NAMED_FILES else ""
    return f"\n\nFiles, to be read with file_path: {names}{more}"
