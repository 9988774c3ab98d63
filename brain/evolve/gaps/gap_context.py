"""What a model is shown with a gap: the skills that exist, those that are wanted, and attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import BrainError
from ...experience.gaps import VALIDATION_PHASE, EndedAttempt, OpenGap
from ..material import RelatedMaterial
from ..prompts import KnownAttempt, gap_message
from .brain_protocol import GapBrain

if TYPE_CHECKING:
    from ...repo.learning.held_out_filter import HeldOutFilter

_MAX_SELECTED = 30
_MAX_WANTED = 10
_MAX_ATTEMPTS = 6
_MAX_UNKEPT = 3
"""Answers without a program that are shown."""


def hide_held_out(held_out: HeldOutFilter, gap: OpenGap) -> OpenGap | None:
    """Return a gap without error and reflections that repeat the input of a held-out case.

    None if its goal does.
    """
    if held_out.hides(gap.goal) or held_out.hides(gap.tool):
        return None
    return replace(
        gap,
        error="" if held_out.hides(gap.error) else gap.error,
        reflections=tuple(text for text in gap.reflections if not held_out.hides(text)),
    )


def build_gap_message(
    brain: GapBrain, material: RelatedMaterial, gap: OpenGap, refused: Sequence[EndedAttempt]
) -> str:
    """Return the first message about a gap. Held-out cases are in no part of it.

    `refused` are earlier attempts at it that were rejected, newest first.
    """
    selected = brain.skills.select(gap.goal, _MAX_SELECTED) if gap.goal else []
    names = [f"{skill.slug}: {skill.description}" for skill in selected]
    wanted = _list_wanted(brain)
    unkept = [
        KnownAttempt(one.slug or "no program", one.reason, "")
        for one in refused
        if one.phase == VALIDATION_PHASE and not one.attempt
    ]
    background = material.read_background(
        dict.fromkeys([*(one.slug for one in refused if one.attempt), *wanted])
    )
    attempts = [*unkept[:_MAX_UNKEPT], *background.attempts][:_MAX_ATTEMPTS]
    return gap_message(gap, names, wanted, background._replace(attempts=attempts))


def list_proposed_skills(brain: GapBrain) -> tuple[str, ...]:
    """Return the skills that proposals which wait for a person would add or change."""
    found = [skill.slug for one in brain.proposals.list() for skill in one.skills]
    return tuple(dict.fromkeys(found))


def _list_wanted(brain: GapBrain) -> list[str]:
    """Return the slugs that have cases and no skill yet."""
    slugs = dict.fromkeys(case.slug for case in brain.gate.list_cases())
    return [slug for slug in slugs if not _exists(brain, slug)][:_MAX_WANTED]


def _exists(brain: GapBrain, slug: str) -> bool:
    try:
        brain.skills.view(slug)
    except BrainError:
        return False
    return True
