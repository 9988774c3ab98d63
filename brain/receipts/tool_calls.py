"""Counts of the tool calls of a run, step by step: they say whether it was hard."""

from __future__ import annotations

from typing import NamedTuple

from .receipt_types import RunStep


class ToolCallCounts(NamedTuple):
    """How many tools a run called; whether a call failed, and whether a later one succeeded."""

    calls: int = 0
    has_failure: bool = False
    has_recovery: bool = False

    def add(self, step: RunStep) -> ToolCallCounts:
        """Return the counts with one more step; only steps of the kind "tool" count."""
        if step.kind != "tool":
            return self
        failed = bool(step.error)
        return ToolCallCounts(
            self.calls + 1,
            self.has_failure or failed,
            self.has_recovery or (self.has_failure and not failed),
        )
