"""Which skills stand in front of a solver, and how drafts become skills."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ...repo.learning.change import body_of
from ...skills.visible_text import clean_text
from ...solving.solver import Skill
from ...tasks.task import Task
from .settings import GrindSettings
from .workspace import (
    DRAFTS,
    OWN_FOLDER,
    WorkspaceSkill,
    list_slugs,
    task_skill_file,
    without_own,
)

if TYPE_CHECKING:
    from ...search.embedder import Embedder

SUPPORT_FILE = f"{OWN_FOLDER}drafts.json"
"""Which tasks support each draft."""
CATEGORY_BONUS, MIN_SCORE, MIN_WORD_CHARS = 5, 2, 4
_WORD = re.compile(r"[^\W_]+")
_PREAMBLE_CHARS, _EMBEDDED_CHARS = 32_000, 2_000


class Front(NamedTuple):
    """What is in front of a solver: the text before its instruction, and skills."""

    preamble: str
    skills: tuple[Skill, ...]

    @property
    def slugs(self) -> list[str]:
        """The skills by their slugs."""
        return [skill.slug for skill in self.skills]


def make_front(
    files: Mapping[str, bytes],
    skills: Sequence[WorkspaceSkill],
    task: Task,
    settings: GrindSettings,
    embedder: Embedder | None,
) -> Front:
    """Return what a workspace puts in front of a task: prompts, memory, skills, its own skill."""
    plain = [path for path in without_own(files) if "skills" not in path.split("/")[:-1]]
    plain.sort(key=lambda path: (not path.startswith("prompts/"), path))
    texts = [
        clean_text(files[path].decode("utf-8", "replace")).strip()
        for path in plain
        if b"\0" not in files[path]
    ]
    offered = [one for one in skills if not one.is_user_only]
    chosen = select_skills(offered, task, settings, embedder)
    front = [Skill(one.slug, one.description, one.files) for one in chosen]
    own = files.get(task_skill_file(task.name))
    if own is not None and settings.task_skills != "off":
        front.append(Skill("this-task", "How to do this very task.", {"SKILL.md": own}))
    return Front("\n\n".join(filter(None, texts))[:_PREAMBLE_CHARS], tuple(front))


def with_front(task: Task, front: Front) -> Task:
    """Return a task whose instruction begins with the prompts and the memory."""
    if not front.preamble:
        return task
    return replace(task, instruction=f"{front.preamble}\n\n{task.instruction}")


def select_skills(
    skills: Sequence[WorkspaceSkill],
    task: Task,
    settings: GrindSettings,
    embedder: Embedder | None = None,
) -> list[WorkspaceSkill]:
    """Return the skills that fit a task best, at most `select_limit` of them; all for 0.

    By keywords, as on the seed page: a point for each word of the name and of the description, of
    more than three characters, that the task has, five for its category; those with two points or
    more. Words are compared whole: "form" is not in "platform".
    """
    if settings.select_limit < 1:
        return list(skills)
    if settings.select_by == "embedding" and embedder is not None:
        scores = _compare(skills, task, embedder)
        ranked = sorted(zip(skills, scores, strict=True), key=lambda row: (-row[1], row[0].path))
    else:
        points = [(one, _count_points(one, task)) for one in skills]
        ranked = [row for row in points if row[1] >= MIN_SCORE]
        ranked.sort(key=lambda row: (-row[1], row[0].path))
    return [one for one, _ in ranked[: settings.select_limit]]


def _count_points(skill: WorkspaceSkill, task: Task) -> float:
    wanted = _words(task.instruction)
    points = len(_words(skill.name) & wanted) + len(_words(skill.description) & wanted)
    is_of_kind = bool(_words(skill.category) & _words(task.category))
    return points + CATEGORY_BONUS * is_of_kind


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.casefold()) if len(word) >= MIN_WORD_CHARS}


def _compare(skills: Sequence[WorkspaceSkill], task: Task, embedder: Embedder) -> list[float]:
    """Return the cosine similarity of each skill (name, description, beginning) to a task."""
    from ...search.embedder import MAX_BATCH_TEXTS

    texts = [
        f"{one.name}\n{one.description}\n{body_of(one.files['SKILL.md'])}"[:_EMBEDDED_CHARS]
        for one in skills
    ]
    (wanted,) = embedder.embed([task.instruction[:_EMBEDDED_CHARS]])
    found: list[float] = []
    for start in range(0, len(texts), MAX_BATCH_TEXTS):
        found += map(float, embedder.embed(texts[start : start + MAX_BATCH_TEXTS]) @ wanted)
    return found


# Drafts


def count_support(
    before: Mapping[str, bytes], after: Mapping[str, bytes], tasks: Sequence[str]
) -> dict[str, bytes]:
    """Return the files with the tasks noted that support the drafts which a step wrote."""
    support = _read_support(after)
    for path in after:
        if path.startswith(DRAFTS) and before.get(path) != after[path]:
            key = path.removeprefix(DRAFTS).removesuffix(".md")
            support[key] = sorted({*support.get(key, []), *tasks})
    return _with_support(after, support)


def promote_drafts(files: Mapping[str, bytes], threshold: int) -> dict[str, bytes]:
    """Return the files where each draft that enough tasks support is a skill.

    A draft whose skill is there already stays: its lesson is merged by the evolver, who sees both.
    """
    after, support = dict(files), _read_support(files)
    known = set(list_slugs(files))
    for key, tasks in list(support.items()):
        path = f"{DRAFTS}{key}.md"
        if path in after and len(tasks) >= threshold and key not in known:
            after[f"skills/{key}/SKILL.md"] = after.pop(path)
            del support[key]
    return _with_support(after, support)


def _read_support(files: Mapping[str, bytes]) -> dict[str, list[str]]:
    try:
        found = json.loads(files.get(SUPPORT_FILE, b"{}"))
    except ValueError:  # a person edited it
        found = {}
    rows = found.items() if isinstance(found, dict) else ()
    return {
        key: [str(task) for task in tasks]
        for key, tasks in rows
        if f"{DRAFTS}{key}.md" in files and isinstance(tasks, list)
    }


def _with_support(files: Mapping[str, bytes], support: Mapping[str, list[str]]) -> dict[str, bytes]:
    rest = {path: data for path, data in files.items() if path != SUPPORT_FILE}
    if not support:
        return rest
    return {**rest, SUPPORT_FILE: (json.dumps(support, indent=1, sort_keys=True) + "\n").encode()}
