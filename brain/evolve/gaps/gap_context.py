"""What a model is shown with a gap: the skills that exist, those that are wanted, and attempts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import BrainError
from ..case_text import describe_case
from .brain_protocol import GapBrain
from .gap_prompt import gap_message
from .open_gaps import OpenGap

if TYPE_CHECKING:
    from ...repo.gate.held_out_filter import HeldOutFilter

_MAX_SELECTED = 30
_MAX_WANTED = 10
_MAX_PRACTICE = 3


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


def build_gap_message(brain: GapBrain, gap: OpenGap) -> str:
    """Return the first message about a gap. Held-out cases are in no part of it."""
    selected = brain.skills.select(gap.goal, _MAX_SELECTED) if gap.goal else []
    wanted = _list_wanted(brain)
    earlier = [
        f"{one.slug}: {one.reason}" for slug in wanted for one in brain.gate.earlier_attempts(slug)
    ]
    return gap_message(
        gap,
        [f"{skill.slug}: {skill.description}" for skill in selected],
        list(_describe_wanted(brain, wanted)),
        earlier,
    )


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


def _describe_wanted(brain: GapBrain, slugs: list[str]) -> Iterator[str]:
    for slug in slugs:
        yield slug
        try:
            cases = brain.gate.practice_cases(slug)[:_MAX_PRACTICE]
        except BrainError:  # a document that is no case: the gate reports it
            continue
        yield from (f"  {describe_case(case)}" for case in cases)
