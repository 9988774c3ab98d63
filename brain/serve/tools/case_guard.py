"""Keep agents from removing or changing what their skills are tried on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ToolFailure, printable_text
from ...repo.read.case_paths import CASES_FOLDER

if TYPE_CHECKING:
    from ...api.brain import Brain


def refuse_to_remove_cases(brain: Brain, name: str) -> None:
    """Refuse to remove a skill whose folder has cases.

    Raises `ToolFailure` (`has_cases`), or as `brain.skills.read_file`.
    """
    folder = brain.skills.read_file(name).path.rpartition("/")[0]
    cases = brain.gate.list_cases()
    if any(
        case.path.startswith(f"{folder}/{CASES_FOLDER}/") and not case.problem for case in cases
    ):
        raise ToolFailure(
            f"'{printable_text(name)}' cannot be removed: its changes are tried on cases.",
            code="has_cases",
            hint="Improve it instead, or ask the user to remove it.",
        )
