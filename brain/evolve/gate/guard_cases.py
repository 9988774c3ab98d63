"""Choose the cases of a trial: held-out ones of the skill, and of others that it could touch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...gating.case_types import Case
from ...repo.gate.case_files import refuse_same_inputs
from .case_runner import is_for_program
from .model_runner import case_text
from .skills_under_test import PlannedSkills


def list_held_out(held_out: Iterable[Case], slug: str, limit: int) -> list[Case]:
    """Return the held-out cases of a skill, at most `limit`: always the same ones.

    Raises `InvalidInput` (`bad_case`) if two of them have one input.
    """
    cases = [case for case in held_out if case.skill == slug]
    refuse_same_inputs(cases)
    return take_cases(cases, limit)


def find_touched(held_out: Iterable[Case], old: PlannedSkills, new: PlannedSkills) -> list[Case]:
    """Return the held-out cases of other skills that a change could touch.

    A case that a program answers is touched if the program of the changed skill is another one,
    and that of the case reaches it by calls. Any other is touched if the prompt for its input is
    another one.
    """
    callers = find_touched_callers(old, new)
    found = []
    for case in held_out:
        if case.skill == new.slug:
            continue
        if is_for_program(new, case):
            is_touched = case.skill in callers
        else:
            is_touched = old.prompt(case_text(case)) != new.prompt(case_text(case))
        if is_touched:
            found.append(case)
    return found


def find_touched_callers(old: PlannedSkills, new: PlannedSkills) -> set[str]:
    """Return the skills whose programs may give other outputs, since they reach the changed one."""
    before, after = (skills.program(new.slug) for skills in (old, new))
    is_same = (before and before.id) == (after and after.id)
    if is_same and (after is None or old.called_names == new.called_names):
        return set()
    return new.find_callers(old.called_names | new.called_names)


def take_cases(cases: Sequence[Case], limit: int) -> list[Case]:
    """Return at most `limit` cases, the first in an order that only their documents decide.

    Who changes a skill writes no cases, so no change brings one forward.
    """
    return sorted(sorted(cases, key=lambda case: case.blob)[:limit], key=lambda case: case.path)
