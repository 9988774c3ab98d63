"""Material of a brain that a model sees beside a run: related skills, and their attempts.

That is earlier attempts, practice cases, and proposals that wait for a person.

Nothing here holds the input of a held-out case: lines that repeat one are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from ..errors import BrainError, InvalidInput, NotFound
from ..models.calls import UnfitAnswer
from .prompts import (
    Background,
    KnownAttempt,
    KnownProposal,
    KnownSkill,
    background_message,
    duplicates_message,
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
        return Background(
            attempts=self._list_attempts(wanted),
            practice=self._list_practice(wanted),
            proposals=shown,
            further=further[:_MAX_NAMED_PROPOSALS],
        )

    def read_background_of(self, slug: str) -> Background:
        """Return what is known of a skill that `read_background` did not tell."""
        return Background(
            attempts=self._list_attempts([slug]),
            practice=self._list_practice([slug]),
            proposals=[one for one in self._proposals[_MAX_PROPOSALS:] if one.slug == slug][
                :_MAX_PROPOSALS
            ],
        )

    def _list_attempts(self, slugs: Iterable[str]) -> list[KnownAttempt]:
        """Return earlier changes of skills that were not admitted, without their cases."""
        earlier = self.brain.gate.earlier_attempts
        found = (one for slug in slugs for one in earlier(slug)[:_MAX_ATTEMPTS])
        return [KnownAttempt(one.slug, one.reason, one.edit) for one in found]

    def _list_practice(self, slugs: Iterable[str]) -> list[str]:
        """Return the first practice cases of skills, a line each."""
        return [f"{slug}: {describe_case(case)}" for slug in slugs for case in self._practice(slug)]

    def _practice(self, slug: str) -> Sequence[Case]:
        try:
            return self.brain.gate.practice_cases(slug)[:_MAX_PRACTICE]
        except BrainError:  # a document that is no case: the gate reports it
            return ()

    @cached_property
    def _proposals(self) -> list[KnownProposal]:
        """The skills of the proposals that wait, newest first."""
        waiting = sorted(
            self.brain.proposals.list(), key=lambda one: one.made[0].time, reverse=True
        )
        return [
            KnownProposal(proposal.name, skill.slug, self._read_proposed(proposal, skill))
            for proposal in waiting[:_MAX_READ_PROPOSALS]
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
    return f"for {text} it must {_describe_expectation(case)}"[:MAX_CASE_CHARS]


def _describe_expectation(case: Case) -> str:
    expect = case.expect
    parts = [f"give {_show(expect.equals)}"] if expect.has_equals else []
    if expect.contains:
        parts.append(f"hold {_show(expect.contains)}")
    if expect.excludes:
        parts.append(f"not hold {_show(expect.excludes)}")
    if expect.check:
        parts.append(f"pass {_show(expect.check)}")
    return ", and ".join(parts)


def _show(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
