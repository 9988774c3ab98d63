"""Counts of the tool calls of a run, step by step: they say whether it was hard."""

from __future__ import annotations

from typing import NamedTuple

from ..programs.program import BUILT_IN_TOOLS
from .receipt_types import RunStep

_SERVED_PREFIX = "mcp__"
"""Before the name of a server and its tool, as Claude Code has it."""


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
        if step.kind != "tool" or step.caller or _is_built_in(step.name):
            return self
        failed = bool(step.error)
        return ToolCallCounts(
            self.calls + 1,
            self.has_failure or failed,
            self.has_recovery or (self.has_failure and not failed),
        )


def _is_built_in(name: str) -> bool:
    if name.startswith(_SERVED_PREFIX):
        name = name.rpartition("__")[2]
    return name in BUILT_IN_TOOLS
