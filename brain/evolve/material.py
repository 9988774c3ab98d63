"""What a model sees beside a run: related skills and what is known of them, and tools.

That is earlier attempts, practice cases, and proposals that wait for a person. With the tools it
reads the texts of skills; they reach no cases, no other file and no network. Nothing here holds the
input of a held-out case: lines that repeat one are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..errors import BrainError, InvalidInput, NotFound, printable_text
from ..models.calls import UnfitAnswer
from .prompts import (
    Background,
    KnownAttempt,
    KnownProposal,
    KnownSkill,
    background_message,
    duplicates_message,
    mask_text,
    quote_lines,
)

if TYPE_CHECKING:
    from ..api.brain import Brain
    from ..gating.case_files import Case
    from ..receipts import Receipt
    from ..results import Proposal, SkillChange
    from .drafts import SkillDraft

_MAX_RELATED = 5
"""Existing skills shown in the first message."""
_MAX_ATTEMPTS = 3
"""Earlier attempts at one skill that are shown."""
_MAX_PRACTICE = 3
"""Practice cases of one skill that are shown."""
_MAX_PROPOSALS = 5
"""Waiting proposals whose texts are shown."""
MAX_CASE_CHARS = 600
"""Characters of a practice case that are shown."""
MAX_SHOWN_BYTES = 256 << 10
"""Size of everything that the tools show in one conversation."""
_MAX_CALLS = 200
_MAX_LISTED = 200
_MAX_NAMED_PROPOSALS = 50
_MAX_READ_PROPOSALS, _MAX_SKILLS_OF_PROPOSAL = 100, 5


class RelatedMaterial:
    """Reads what a model may be shown of `brain`; the held-out cases are read once."""

    def __init__(self, brain: Brain) -> None:
        self.brain = brain
        self.held_out = brain.gate.read_held_out_filter()

    def list_skills(self, receipt: Receipt) -> list[KnownSkill]:
        """Return the skills that a run may improve: those it read, then those for its task."""
        loaded = [
            step.name for step in receipt.steps if step.kind in ("skill_load", "skill_create")
        ]
        selected = self.brain.skills.select(receipt.task, _MAX_RELATED) if receipt.task else []
        candidates = dict.fromkeys([*loaded, *(skill.slug for skill in selected)])
        found = (skill for slug in candidates if (skill := self.find_skill(slug)))
        return list(islice(found, _MAX_RELATED))

    def find_skill(self, slug: str) -> KnownSkill | None:
        """Return an existing skill, to show to a model, None if there is none."""
        try:
            view = self.brain.skills.view(slug)
        except (NotFound, InvalidInput):
            return None
        texts = view.description, view.body.strip() + "\n"
        description, body = map(self.held_out.hide_in, texts)
        return KnownSkill(
            slug=view.slug,
            name=view.name,
            description=description,
            version=str(view.version),
            body=body,
            has_hidden_lines=(description, body) != texts,
        )

    def read_background(self, slugs: Iterable[str]) -> Background:
        """Return what is known of skills, and which proposals wait: the newest with their texts."""
        wanted = list(slugs)
        shown = self._proposals[:_MAX_PROPOSALS]
        further = [f"{one.name} of {one.slug}" for one in self._proposals[_MAX_PROPOSALS:]]
        known = self._list_attempts(wanted), self._list_practice(wanted)
        return Background(*known, shown, further[:_MAX_NAMED_PROPOSALS])

    def read_background_of(self, slug: str) -> Background:
        """Return what is known of a skill that `read_background` did not tell."""
        unseen = [one for one in self._proposals[_MAX_PROPOSALS:] if one.slug == slug]
        known = self._list_attempts([slug]), self._list_practice([slug])
        return Background(*known, unseen[:_MAX_PROPOSALS])

    def _list_attempts(self, slugs: Iterable[str]) -> list[KnownAttempt]:
        earlier = self.brain.gate.earlier_attempts
        found = (one for slug in slugs for one in earlier(slug)[:_MAX_ATTEMPTS])
        return [KnownAttempt(one.slug, one.reason, one.edit) for one in found]

    def _list_practice(self, slugs: Iterable[str]) -> list[str]:
        lines = []
        for slug in slugs:
            with suppress(BrainError):  # a document that is no case: the gate reports it
                cases = self.brain.gate.practice_cases(slug)[:_MAX_PRACTICE]
                lines += [f"{slug}: {describe_case(case)}" for case in cases]
        return lines

    @cached_property
    def _proposals(self) -> list[KnownProposal]:
        """The skills of the proposals that wait, newest first."""
        waiting = self.brain.proposals.list(_MAX_READ_PROPOSALS, newest_first=True)
        return [
            KnownProposal(proposal.name, skill.slug, self._read_proposed(proposal, skill))
            for proposal in waiting
            for skill in proposal.skills[:_MAX_SKILLS_OF_PROPOSAL]
        ]

    def _read_proposed(self, proposal: Proposal, skill: SkillChange) -> str:
        if skill.change == "removed":
            return "It removes the skill."
        try:
            view = self.brain.skills.view(skill.path, proposal.snapshot)
        except BrainError as error:  # such as a redacted text
            return error.message
        return f"{view.description}\n\n{view.body.strip()}"


class ShownSkills:
    """The skills that a model saw, by slug, and whether somebody looked for near duplicates."""

    def __init__(self, material: RelatedMaterial, known: Sequence[KnownSkill]) -> None:
        self._material = material
        self.skills = {skill.slug: skill for skill in known}
        self._known: set[str] = set(self.skills)
        self._compared = False

    def require_seen(self, draft: SkillDraft) -> None:
        """Raise `UnfitAnswer` with what the model has to see before its draft is accepted.

        These are the skills that a new one would replace or nearly duplicate, and what is known
        of a skill of its name: attempts, practice cases and proposals. Similar skills are shown
        once: if the model insists, it may create the new skill, unless a skill has its name.
        """
        skills = [] if draft.base else self._find_similar(draft)
        background = ""
        if draft.slug not in self._known:
            self._known.add(draft.slug)
            background = background_message(self._material.read_background_of(draft.slug))
        self.skills.update({skill.slug: skill for skill in skills})
        duplicates = duplicates_message(skills) if skills else ""
        question = "\n\n".join(filter(None, (background, duplicates)))
        if not question:
            return
        fault = f"there are attempts, cases or proposals of {draft.slug} already"
        if skills:
            fault = f"it nearly duplicates {', '.join(skill.slug for skill in skills)}"
        raise UnfitAnswer(fault, question)

    def _find_similar(self, draft: SkillDraft) -> list[KnownSkill]:
        existing = self._material.find_skill(draft.slug)
        skills = [existing] if existing else []
        if not skills and not self._compared:
            similar = self._material.brain.skills.find_duplicates(
                draft.name, draft.description, draft.body
            )
            unseen = [skill.slug for skill in similar if skill.slug not in self.skills]
            skills = [skill for slug in unseen if (skill := self._material.find_skill(slug))]
        self._compared = True
        return skills


def describe_case(case: Case) -> str:
    """Return what a case gives a skill and what it expects, as one line of limited length."""
    text = case.input if isinstance(case.input, str) else json.dumps(dict(case.input))
    verbs = {"equals": "give", "contains": "hold", "excludes": "not hold", "check": "pass"}
    must = [
        f"{verbs[name]} {json.dumps(value, ensure_ascii=False)}"
        for name, value in case.expect.parts.items()
    ]
    return f"for {text} it must {', and '.join(must)}"[:MAX_CASE_CHARS]


class SkillTools:
    """The tools over one brain; they add what they show to `shown`, by slug: it may be improved."""

    def __init__(self, material: RelatedMaterial, shown: dict[str, KnownSkill]) -> None:
        self._material = material
        self._shown = shown
        self._shown_bytes = self._calls = 0

    def list_all(self) -> list[Callable[..., Coroutine[Any, Any, str]]]:
        """Return the tools; their docstrings are for the model."""

        async def skills_list() -> str:
            """List all skills: name and description."""
            return self._tell(self._list_skills)

        async def skill_view(name: str) -> str:
            """Show the text of a skill."""
            return self._tell(lambda: self._view_skill(name))

        return [skills_list, skill_view]

    def _tell(self, run: Callable[[], str]) -> str:
        """Return the result of a call, or what was wrong with it, as a text for the model."""
        self._calls += 1
        if self._calls > _MAX_CALLS or self._shown_bytes > MAX_SHOWN_BYTES:
            return "Error: you have read enough; answer now"
        try:
            text = self._material.held_out.hide_in(run())
        except BrainError as error:
            text = f"Error: {error.message}"
        self._shown_bytes += len(text.encode("utf-8", "replace"))
        return text if self._shown_bytes <= MAX_SHOWN_BYTES else "Error: it is too much to show"

    def _list_skills(self) -> str:
        skills = self._material.brain.skills.list()
        lines = [f"{skill.slug}: {skill.description}" for skill in skills[:_MAX_LISTED]]
        if len(skills) > _MAX_LISTED:
            lines.append(f"({len(skills) - _MAX_LISTED} more are not shown)")
        return quote_lines(mask_text("\n".join(lines))) or "(none)"

    def _view_skill(self, name: str) -> str:
        skill = self._material.find_skill(name)
        if skill is None:
            raise InvalidInput(f"no skill has the name {printable_text(name, 80)}")
        self._shown[skill.slug] = skill
        text = mask_text(f"{skill.description}\n\n{skill.body}")
        return f"Skill {skill.slug}, version {skill.version}:\n{quote_lines(text)}"
