"""What a model is shown of a brain beside a run: related skills, and what is known of them.

That is earlier attempts, practice cases, and proposals that wait for a person.

Nothing here holds the input of a held-out case: lines that repeat one are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from ..errors import BrainError, InvalidInput, NotFound
from .case_text import describe_case
from .synthesis_prompt import Background, KnownAttempt, KnownProposal, KnownSkill

if TYPE_CHECKING:
    from ..gating.case_files import Case
    from ..receipts import Receipt
    from ..results import Proposal, SkillChange
    from .brain_protocol import LearningBrain

_MAX_RELATED = 5
"""Existing skills shown in the first message."""
_MAX_ATTEMPTS = 3
"""Earlier attempts at one skill that are shown."""
_MAX_PRACTICE = 3
"""Practice cases of one skill that are shown."""
_MAX_PROPOSALS = 5
"""Waiting proposals whose texts are shown."""
_MAX_NAMED_PROPOSALS = 50
_MAX_READ_PROPOSALS, _MAX_SKILLS_OF_PROPOSAL = 100, 5


class RelatedMaterial:
    """Reads what a model may be shown of `brain`; the held-out cases are read once."""

    def __init__(self, brain: LearningBrain) -> None:
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
