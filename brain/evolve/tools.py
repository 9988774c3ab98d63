"""The tools of a model that drafts a skill: read skills, and write files of one draft.

A draft is in memory; nothing is on disk before the gate has decided. The tools reach the skills
of the brain and the draft, no cases, no other file and no network. Lines that repeat the input
of a held-out case are left out of all that they show.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..errors import BrainError, InvalidInput, NotFound, printable_text
from ..models.calls import UnfitAnswer
from ..programs import CASES_FILE, CHECK_FILE, PROGRAM_FILE, SCHEMA_FILE
from ..secrets import find_secrets
from ..skills.slug import slugify
from .transcript import mask_text, quote_lines

if TYPE_CHECKING:
    from .drafts import SkillDraft
    from .material import RelatedMaterial
    from .prompts import KnownSkill

SKILL_FILE = "SKILL.md"
DRAFT_FILES = (SKILL_FILE, PROGRAM_FILE, SCHEMA_FILE, CASES_FILE, CHECK_FILE)
"""The files of a skill that a model may read and write; never its cases."""
MAX_DRAFT_BYTES = 256 << 10
"""Size of all files of a draft."""
MAX_SHOWN_BYTES = 256 << 10
"""Size of everything that the tools show in one conversation."""
_MAX_CALLS = 200
_MAX_LISTED = 200


@dataclass(slots=True)
class DraftTools:
    """The tools over one brain, with the draft that they have written so far.

    `shown` are the skills that the model has read, by slug: only these it may improve.
    """

    material: RelatedMaterial
    shown: dict[str, KnownSkill]
    slug: str = ""
    files: dict[str, str] = field(default_factory=dict)
    _shown_bytes: int = 0
    _calls: int = 0

    def list_all(self) -> list[Callable[..., Coroutine[Any, Any, str]]]:
        """Return the tools; their docstrings are for the model."""

        async def skills_list() -> str:
            """List all skills: name and description."""
            return self._tell(self._list_skills)

        async def skill_view(name: str) -> str:
            """Show the text of a skill."""
            return self._tell(lambda: self._view_skill(name))

        async def read_file(skill: str, path: str) -> str:
            return self._tell(lambda: self._read_file(skill, path))

        async def write(skill: str, path: str, text: str) -> str:
            return self._tell(lambda: self._write_file(skill, path, text))

        files = f"PATH is one of {', '.join(DRAFT_FILES)}."
        read_file.__doc__ = f"Read a file of a skill, or of your draft of it. {files}"
        write.__name__ = "write_file"
        write.__doc__ = (
            f"Write a file of the one skill that you draft. {files} SKILL.md has no front matter."
            " A body that you wrote there may be left out of the answer."
        )
        return [skills_list, skill_view, read_file, write]

    def add_to(self, draft: SkillDraft) -> SkillDraft:
        """Return a draft with the program that was written. Raises `UnfitAnswer`."""
        if not self.slug:
            return draft
        if draft.slug != self.slug:
            raise UnfitAnswer(f"your draft is of {self.slug}, and your answer of {draft.slug}")
        program = {path: text.encode() for path, text in self.files.items() if path != SKILL_FILE}
        for path, content in program.items():
            secrets = find_secrets(content)
            if secrets:
                raise UnfitAnswer(f"{path} holds what looks like a secret ({secrets[0].rule})")
        return replace(draft, files={**self._find_program(), **program}) if program else draft

    def _find_program(self) -> Mapping[str, bytes]:
        """Return the files of the program that the skill has by now, none without one."""
        try:
            return self.material.brain.programs.find(self.slug).files
        except NotFound:
            return {}

    def _tell(self, run: Callable[[], str]) -> str:
        """Return the result of a call, or what was wrong with it, as a text for the model."""
        self._calls += 1
        if self._calls > _MAX_CALLS or self._shown_bytes > MAX_SHOWN_BYTES:
            return "Error: you have read enough; answer now"
        try:
            text = self.material.held_out.hide_in(run())
        except BrainError as error:
            text = f"Error: {error.message}"
        self._shown_bytes += len(text.encode("utf-8", "replace"))
        return text if self._shown_bytes <= MAX_SHOWN_BYTES else "Error: it is too much to show"

    def _list_skills(self) -> str:
        skills = self.material.brain.skills.list()
        lines = [f"{skill.slug}: {skill.description}" for skill in skills[:_MAX_LISTED]]
        if len(skills) > _MAX_LISTED:
            lines.append(f"({len(skills) - _MAX_LISTED} more are not shown)")
        return quote_lines(mask_text("\n".join(lines))) or "(none)"

    def _view_skill(self, name: str) -> str:
        skill = self._require_skill(name)
        self.shown[skill.slug] = skill
        text = mask_text(f"{skill.description}\n\n{skill.body}")
        return f"Skill {skill.slug}, version {skill.version}:\n{quote_lines(text)}"

    def _read_file(self, skill: str, path: str) -> str:
        slug = slugify(skill)
        _require_draft_file(path)
        if slug == self.slug and path in self.files:
            return quote_lines(self.files[path])
        if path == SKILL_FILE:
            return self._view_skill(skill)
        content = self.material.brain.skills.read_file(
            self._require_skill(skill).slug, path
        ).content
        return quote_lines(mask_text(content.decode("utf-8", "replace")))

    def _write_file(self, skill: str, path: str, text: str) -> str:
        slug = slugify(skill)
        _require_draft_file(path)
        if self.slug and slug != self.slug:
            raise InvalidInput(f"your draft is of {self.slug}; no other skill can be changed")
        others = sum(len(old.encode()) for name, old in self.files.items() if name != path)
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            raise InvalidInput("the text is not valid Unicode") from None
        if others + size > MAX_DRAFT_BYTES:
            raise InvalidInput(f"the files of a draft have at most {MAX_DRAFT_BYTES} bytes")
        self.slug = slug
        self.files[path] = text
        return f"Drafted {path} of {slug}, {size} bytes."

    def _require_skill(self, name: str) -> KnownSkill:
        skill = self.material.find_skill(name)
        if skill is None:
            raise InvalidInput(f"no skill has the name {printable_text(name, 80)}")
        return skill


def _require_draft_file(path: str) -> None:
    if path not in DRAFT_FILES:
        raise InvalidInput(
            f"{printable_text(path, 80)} is none of the files {', '.join(DRAFT_FILES)}"
        )
