"""Keep agents from removing or changing what their skills are tried on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ToolFailure
from ...skills.skill_layout import SKILL_FILES

if TYPE_CHECKING:
    from ...api.brain import Brain


def refuse_to_remove_cases(brain: Brain, name: str) -> None:
    """Refuse to remove a skill whose folder has cases, of it or of skills below it.

    Raises `ToolFailure` (`has_cases`), or as `brain.skills.read_file`.
    """
    path = brain.skills.read_file(name).path
    if not path.endswith(SKILL_FILES):
        return  # a single file; its cases stay
    folder = path.rpartition("/")[0]
    cases = [case for case in brain.gate.list_cases() if not case.problem]
    if any(case.path.startswith(f"{folder}/") for case in cases):
        raise ToolFailure(
            f"'{name}' cannot be removed: its changes are tried on cases.",
            code="has_cases",
            hint="Improve it instead, or ask the user to remove it.",
        )
