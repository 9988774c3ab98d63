"""Choose the cases of a trial: held-out ones of the skill, and of others that it could touch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from ...gating.case_types import Case
from ...repo.gate.case_files import refuse_same_inputs
from ...repo.gate.touched_cases import TouchedCase, TouchingChange
from .brain_protocol import GatedBrain
from .skills_under_test import MAX_TEXTS, PlannedRanks, PlannedSkills, cut_text


class _Document(Protocol):
    @property
    def blob(self) -> bytes: ...
    @property
    def path(self) -> str: ...


D = TypeVar("D", bound=_Document)


def choose_held_out(cases: Sequence[Case], limit: int) -> list[Case]:
    """Return the held-out cases of a skill that are tried, at most `limit`: always the same ones.

    Raises `InvalidInput` (`bad_case`) if two of them have one input.
    """
    refuse_same_inputs(cases)
    return take_cases(cases, limit)[0]


def find_guards(
    brain: GatedBrain,
    head: bytes,
    ranks: PlannedRanks,
    sides: tuple[PlannedSkills, PlannedSkills],
    interrupt: Callable[[], None],
) -> Sequence[TouchedCase]:
    """Return the held-out cases of other skills that a change could touch."""
    old, new = sides
    texts = [side.own_text and cut_text(side.own_text) for side in sides]
    change = TouchingChange(
        slug=new.slug,
        document=ranks.change,
        is_text_changed=texts[0] != texts[1],
        texts=MAX_TEXTS,
        called_as=_list_called_names(old, new),
    )
    return brain.gate.find_touched(head, change, interrupt)


def _list_called_names(old: PlannedSkills, new: PlannedSkills) -> set[str]:
    """Return the slugs by which programs call the changed one; empty if that changes nothing."""
    before, after = (skills.program(new.slug) for skills in (old, new))
    is_same = (before and before.id) == (after and after.id)
    if is_same and (after is None or old.called_names == new.called_names):
        return set()
    return old.called_names | new.called_names


def take_cases(cases: Sequence[D], limit: int) -> tuple[list[D], list[D]]:
    """Return at most `limit` cases and the others, in an order that only their documents decide.

    Who changes a skill writes no cases, so no change brings one forward.
    """
    chosen = sorted(cases, key=lambda case: (case.blob, case.path))
    return sorted(chosen[:limit], key=lambda case: case.path), chosen[limit:]
