"""What a run used: which skills, in order, and how many tools, which says whether it was hard."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from ..programs.program import BUILT_IN_TOOLS
from .receipt import RunStep

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


class ToolCallCounts(NamedTuple):
    """How many tools a run called; whether a call failed, and whether a later one succeeded."""

    calls: int = 0
    has_failure: bool = False
    has_recovery: bool = False

    def add(self, step: RunStep) -> ToolCallCounts:
        """Return the counts with one more step.

        Steps of the kind "tool" count, other than calls of the brain's own tools: reading skills
        and changing them is no hard work. What a program called is no call of the agent.
        """
        name = step.name
        if name.startswith("mcp__"):
            name = name.rpartition(_SERVER_SEPARATOR)[2]
        if step.kind != "tool" or step.caller or name in BUILT_IN_TOOLS:
            return self
        failed = bool(step.error)
        return ToolCallCounts(
            self.calls + 1,
            self.has_failure or failed,
            self.has_recovery or (self.has_failure and not failed),
        )
