"""Which skills a run used, in order: those it read, and those whose programs it called."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from .receipt_types import RunStep

_SERVER_SEPARATOR = "__"
"""Between a server and its tool in names such as mcp__brain__word_count."""


class UsedSkill(NamedTuple):
    """A skill that an agent read, or whose program it called; `at` is in ms since 1970."""

    slug: str
    at: int


def list_used_skills(steps: Sequence[RunStep], tools: Collection[str]) -> list[UsedSkill]:
    """Return the uses of skills in the steps of a run of another program.

    `tools` are the names of tools that are skills. What failed, or what a program called, is left
    out.
    """
    uses = []
    for step in steps:
        name = step.name
        if step.kind == "tool":
            name = name.rpartition(_SERVER_SEPARATOR)[2]
        is_use = step.kind == "skill_load" or (step.kind == "tool" and name in tools)
        if is_use and not step.error and not step.caller:
            uses.append(UsedSkill(name, step.at))
    return uses
