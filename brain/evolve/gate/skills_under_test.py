"""The skills of a brain at one snapshot, with a planned change or without it."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

from ...programs.program import Program
from ...repo.gate.head_skills import body_of
from ...repo.gate.plan_change import PlannedChange
from ...repo.gate.touched_cases import prompt_lines
from ...search.change_ranking import ChangeRanks, DocumentChange
from ...search.selector import SearchDocument
from ...skills import index_lines
from ...skills.skill_metadata import read_skill_metadata
from ...skills.slug import fold_to_slug
from ...skills.visible_text import clean_text

MAX_TEXTS = 2
"""Skills whose whole texts a prompt holds."""
MAX_TEXT_CHARS = 16_000
"""Characters of one text in a prompt."""


class SkillReader(Protocol):
    """Reads skills at a snapshot; `brain.gate` is one."""

    def read_body(self, snapshot: bytes, text: str) -> str | None:
        """Return the text of a skill, by its slug or path, without its front matter."""

    def read_program(self, snapshot: bytes, slug: str) -> Program | None:
        """Return the program of a skill, None without one."""

    def rank(self, snapshot: bytes, change: DocumentChange, task: str) -> ChangeRanks:
        """Return the best skills for a task, without a change and with it."""


class PlannedRanks:
    """The best skills for tasks, without a planned change and with it, each ranked once."""

    def __init__(self, reader: SkillReader, planned: PlannedChange) -> None:
        self._reader = reader
        self._head = planned.head
        before = planned.base_text
        self.change = DocumentChange(
            before=None if before is None else _build_document(planned, before, planned.base_blob),
            after=_build_document(planned, planned.text, planned.text_blob),
        )
        self._found: dict[str, ChangeRanks] = {}

    def rank(self, task: str) -> ChangeRanks:
        """Return the best skills for a task on both sides."""
        if task not in self._found:
            self._found[task] = self._reader.rank(self._head, self.change, task)
        return self._found[task]


class PlannedSkills:
    """The `SkillsUnderTest` of a planned change: as they would be, or as they are.

    `text` is that of the changed skill on this side, None if it is not there; `program` is the
    one that it has here.
    """

    def __init__(
        self,
        reader: SkillReader,
        planned: PlannedChange,
        ranks: PlannedRanks,
        text: bytes | None,
        program: Program | None,
    ) -> None:
        self._reader = reader
        self._planned = planned
        self._ranks = ranks
        self._text = text
        self._program = program
        self._prompts: dict[str, str] = {}
        self._bodies: dict[str, str | None] = {}
        self._programs: dict[str, Program | None] = {}

    def with_program(self, program: Program) -> PlannedSkills:
        """Return these skills with another program of the changed one."""
        return PlannedSkills(self._reader, self._planned, self._ranks, self._text, program)

    @property
    def slug(self) -> str:
        """The skill that the change is about."""
        return self._planned.slug

    def text(self, slug: str) -> str | None:
        """Return the body of a skill; None if there is no such skill."""
        return self.own_text if slug == self.slug else self._read_body(slug)

    @cached_property
    def own_text(self) -> str | None:
        """The body of the changed skill, None if it is not there."""
        return None if self._text is None else body_of(self._text)

    @cached_property
    def called_names(self) -> set[str]:
        """The slugs by which programs may call the changed skill: its own, and of its name."""
        name = "" if self._text is None else read_skill_metadata(self._text, self.slug).name
        return {self.slug, fold_to_slug(name)} - {""}

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
        ranks = self._ranks.rank(task)
        found = ranks.after if self._text == self._planned.text else ranks.before
        parts = ["\n".join(["# Skills", "", *(prompt_lines(found) or [index_lines.NO_MATCH])])]
        for one in found[:MAX_TEXTS]:
            is_own = one.path == self._planned.path
            body = self.own_text if is_own else self._read_body(one.path)
            parts.append(f"# Skill {one.slug}\n\n{cut_text(body or '')}")
        return "\n\n".join(parts) + "\n"

    def _read_body(self, text: str) -> str | None:
        if text not in self._bodies:
            self._bodies[text] = self._reader.read_body(self._planned.head, text)
        return self._bodies[text]


def cut_text(body: str) -> str:
    """Return as much of a text as a prompt shows."""
    return clean_text(body).strip("\n")[:MAX_TEXT_CHARS]


def _build_document(planned: PlannedChange, text: bytes, blob: bytes) -> SearchDocument:
    card = read_skill_metadata(text, planned.slug)
    return SearchDocument(
        planned.path, planned.slug, card.name or planned.slug, card.description, blob
    )
