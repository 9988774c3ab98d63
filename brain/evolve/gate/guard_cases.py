"""Choose the cases of a trial: held-out ones of the skill, and of others that it could touch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ...gating.case_types import Case
from ...programs.tool_name import tool_name
from ...repo.gate.case_files import refuse_same_inputs
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

    Those of a skill with a program are touched if it calls the changed skill by its name, and
    those of a text if the prompt for their input is another one.
    """
    is_touched = {}
    found = []
    for case in held_out:
        if case.skill == new.slug:
            continue
        if case.skill not in is_touched:
            is_touched[case.skill] = _calls(new, case.skill)
        calls = is_touched[case.skill]
        if calls or (calls is None and old.prompt(case_text(case)) != new.prompt(case_text(case))):
            found.append(case)
    return found


def _calls(skills: PlannedSkills, slug: str) -> bool | None:
    """Tell whether the program of a skill names the tool of the changed one; None without one."""
    program = skills.program(slug)
    if program is None:
        return None
    name = re.escape(tool_name(skills.slug))
    return re.search(rf"\b{name}\b", program.code.decode("utf-8", "replace")) is not None


def take_cases(cases: Sequence[Case], limit: int) -> list[Case]:
    """Return at most `limit` cases, the first in an order that only their documents decide.

    Who changes a skill writes no cases, so no change brings one forward.
    """
    return sorted(sorted(cases, key=lambda case: case.blob)[:limit], key=lambda case: case.path)
