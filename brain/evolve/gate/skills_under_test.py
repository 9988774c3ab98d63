"""The skills of a brain at one snapshot, with a planned change or without it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Protocol

from ...programs.program import Program
from ...repo.gate.head_skills import body_of
from ...repo.gate.plan_change import PlannedChange
from ...search.bm25 import FIELD_WEIGHTS, Bm25Selector, index_fields
from ...search.selector import RankedSkill, SearchDocument
from ...skills import index_lines
from ...skills.skill_metadata import read_skill_metadata
from ...skills.slug import fold_to_slug
from ...skills.visible_text import clean_text
from ...store.full_text_index import FullTextIndex, open_memory_full_text

MAX_INDEX_SKILLS = 10
"""Skills that a prompt lists: those that fit the task best."""
MAX_TEXTS = 2
"""Skills whose whole texts a prompt holds."""
MAX_TEXT_CHARS = 16_000
"""Characters of one text in a prompt."""


class SkillReader(Protocol):
    """Reads skills at a snapshot; `brain.gate` is one."""

    def read_body(self, snapshot: bytes, path: str) -> str:
        """Return the text of the skill at a path, without its front matter."""

    def read_program(self, snapshot: bytes, slug: str) -> Program | None:
        """Return the program of a skill, None without one."""

    def find_callers(self, snapshot: bytes, names: Collection[str]) -> set[str]:
        """Return the skills whose programs call one of some names, also over other programs."""


class PlannedSkills:
    """The `SkillsUnderTest` of a planned change: as they would be, or as they are.

    `documents` are those of the snapshot that the change was planned at; `program` is the one
    that the changed skill has here.
    """

    def __init__(
        self,
        reader: SkillReader,
        planned: PlannedChange,
        documents: Sequence[SearchDocument],
        text: bytes | None,
        program: Program | None,
    ) -> None:
        self._reader = reader
        self._planned = planned
        self._text = text
        self._program = program
        self._documents = {one.path: one for one in documents if one.path != planned.path}
        if text is not None:
            self._documents[planned.path] = _build_document(planned, text)
        self._prompts: dict[str, str] = {}
        self._bodies: dict[str, str] = {}
        self._programs: dict[str, Program | None] = {}

    @property
    def slug(self) -> str:
        """The skill that the change is about."""
        return self._planned.slug

    def text(self, slug: str) -> str | None:
        """Return the body of a skill; None if there is no such skill."""
        path = next((one.path for one in self._documents.values() if one.slug == slug), None)
        return None if path is None else self._body(path)

    @cached_property
    def called_names(self) -> set[str]:
        """The slugs by which programs may call the changed skill: its own, and of its name."""
        name = "" if self._text is None else read_skill_metadata(self._text, self.slug).name
        return {self.slug, fold_to_slug(name)} - {""}

    def find_callers(self, names: Collection[str]) -> set[str]:
        """Return the other skills whose programs reach one of some names by calls."""
        return self._reader.find_callers(self._planned.head, names)

    def program(self, slug: str) -> Program | None:
        """Return the program of a skill by its slug or the slug of its name, None without one."""
        slug = fold_to_slug(slug)
        if slug not in self._programs:
            self._programs[slug] = self._find_program(slug)
        return self._programs[slug]

    def _find_program(self, slug: str) -> Program | None:
        if slug == self.slug:
            return self._program
        found = self._reader.read_program(self._planned.head, slug)
        if found is None or found.slug == self.slug:  # no other skill with a program
            return self._program if slug in self.called_names else None
        return found

    def prompt(self, task: str) -> str:
        """Return the system prompt for a task: lines of the best skills, and the best texts."""
        if task not in self._prompts:
            self._prompts[task] = self._build_prompt(task)
        return self._prompts[task]

    def _build_prompt(self, task: str) -> str:
        ranked = self._rank(task)
        found = [self._documents[one.path] for one in ranked]
        lines = index_lines.format_lines(
            [
                (one.slug, index_lines.differing_name(one.slug, one.name), one.description)
                for one in found
            ]
        )
        parts = ["\n".join(["# Skills", "", *(lines or [index_lines.NO_MATCH])])]
        for one in found[:MAX_TEXTS]:
            body = clean_text(self._body(one.path)).strip("\n")[:MAX_TEXT_CHARS]
            parts.append(f"# Skill {one.slug}\n\n{body}")
        return "\n\n".join(parts) + "\n"

    def _rank(self, task: str) -> list[RankedSkill]:
        return Bm25Selector(self._index).rank(task, MAX_INDEX_SKILLS)

    @cached_property
    def _index(self) -> FullTextIndex:
        index = open_memory_full_text(FIELD_WEIGHTS)
        with index.transaction():
            rows = ((one.path, index_fields(one)) for one in self._documents.values())
            index.update(self._planned.head, [], rows)
        return index

    def _body(self, path: str) -> str:
        if path not in self._bodies:
            is_own = path == self._planned.path and self._text is not None
            self._bodies[path] = (
                body_of(self._text or b"")
                if is_own
                else self._reader.read_body(self._planned.head, path)
            )
        return self._bodies[path]


def _build_document(planned: PlannedChange, text: bytes) -> SearchDocument:
    card = read_skill_metadata(text, planned.slug)
    return SearchDocument(
        planned.path, planned.slug, card.name or planned.slug, card.description, planned.text_blob
    )
