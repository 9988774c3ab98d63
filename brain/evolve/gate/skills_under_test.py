"""The skills of a brain at one snapshot, with a planned change or without it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Protocol

from ...gating.case_files import Case
from ...programs.program import Program
from ...repo.learning.change import PlannedChange, body_of
from ...repo.learning.guards import list_names
from ...skills import index_lines
from ...skills.skill_metadata import read_skill_metadata
from ...skills.slug import fold_to_slug
from ...skills.visible_text import clean_text

MAX_TEXT_CHARS = 16_000
"""Characters of one text in a prompt."""


class SkillReader(Protocol):
    """Reads skills at a snapshot; `brain.gate` is one."""

    def read_text(self, snapshot: bytes, slug: str) -> bytes | None:
        """Return the SKILL.md of a skill, None if there is no such skill."""

    def read_program(self, snapshot: bytes, slug: str) -> Program | None:
        """Return the program of a skill, None without one."""


class PlannedSkills:
    """The `SkillsUnderTest` of a planned change: as they would be, or as they are.

    `text` is that of the changed skill on this side, None if it is not there; `program` is the
    one that it has here.
    """

    def __init__(
        self,
        reader: SkillReader,
        planned: PlannedChange,
        text: bytes | None,
        program: Program | None,
    ) -> None:
        self._reader = reader
        self._planned = planned
        self._text = text
        self._program = program
        self._prompts: dict[str, str] = {}
        self._programs: dict[str, Program | None] = {}

    def with_program(self, program: Program) -> PlannedSkills:
        """Return these skills with another program of the changed one."""
        return PlannedSkills(self._reader, self._planned, self._text, program)

    @property
    def slug(self) -> str:
        """The skill that the change is about."""
        return self._planned.slug

    def text(self, slug: str) -> str | None:
        """Return the body of a skill; None if there is no such skill."""
        text = self._read_text(slug)
        return None if text is None else body_of(text)

    @cached_property
    def called_names(self) -> set[str]:
        """The slugs by which programs may call the changed skill: its own, and of its name."""
        return {self.slug} if self._text is None else list_names(self._text, self.slug)

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

    def prompt(self, case: Case) -> str:
        """Return the system prompt for a case: its skill, and the changed one if that is another.

        An agent has read both then; which ones it would choose is another question.
        """
        key = fold_to_slug(case.skill)
        if key not in self._prompts:
            self._prompts[key] = self._build_prompt(dict.fromkeys([case.skill, self.slug]))
        return self._prompts[key]

    def _build_prompt(self, slugs: Iterable[str]) -> str:
        texts = {slug: text for slug in slugs if (text := self._read_text(slug)) is not None}
        cards = {slug: read_skill_metadata(text, slug) for slug, text in texts.items()}
        lines = index_lines.format_lines(
            [
                (slug, index_lines.differing_name(slug, card.name or slug), card.description)
                for slug, card in cards.items()
            ]
        )
        parts = ["\n".join(["# Skills", "", *(lines or [index_lines.NO_MATCH])])]
        parts += [f"# Skill {slug}\n\n{_cut(body_of(text))}" for slug, text in texts.items()]
        return "\n\n".join(parts) + "\n"

    def _read_text(self, slug: str) -> bytes | None:
        if slug == self.slug:
            return self._text
        return self._reader.read_text(self._planned.head, slug)


def _cut(body: str) -> str:
    return clean_text(body).strip("\n")[:MAX_TEXT_CHARS]
