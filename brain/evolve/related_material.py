"""What a model is shown of a brain beside a run: related skills, and earlier attempts at them.

Nothing here holds the input of a held-out case: lines that repeat one are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from ..errors import InvalidInput, NotFound
from .synthesis_prompt import KnownAttempt, KnownSkill

if TYPE_CHECKING:
    from ..receipts import Receipt
    from .brain_protocol import LearningBrain

_MAX_RELATED = 5
"""Existing skills shown in the first message."""
_MAX_ATTEMPTS = 3
"""Earlier attempts at one skill that are shown."""


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

    def list_attempts(self, slugs: Iterable[str]) -> list[KnownAttempt]:
        """Return earlier changes of skills that were not admitted, without their cases."""
        earlier = self.brain.gate.earlier_attempts
        found = (one for slug in slugs for one in earlier(slug)[:_MAX_ATTEMPTS])
        return [KnownAttempt(one.slug, one.reason, one.edit) for one in found]
