"""Decide whether a run was hard, so that a skill can be learned from it."""

from __future__ import annotations

from collections.abc import Iterable

from ...receipts import RunStep
from ...receipts.uses import ToolCallCounts
from ..open.manifest import DEFAULT_SYNTHESIS, SynthesisPolicy

TOOL_CALLS = "tool_calls"
RECOVERY = "recovery"
LEARNED_OUTCOMES = ("success", "unknown", "")
"""Outcomes of runs to learn a procedure from; failed ones are for the analysis of gaps."""


def find_trigger(steps: Iterable[RunStep], policy: SynthesisPolicy = DEFAULT_SYNTHESIS) -> str:
    """Return the reason why a run was hard, "" if it was not.

    `tool_calls`: it made at least `policy.tools` tool calls. `recovery`: a call failed and a
    later one succeeded. Only steps of the kind "tool" count: changes of skills and memory by
    a call are steps of their own.
    """
    counts = ToolCallCounts()
    for step in steps:
        counts = counts.add(step)
    return find_trigger_by_counts(counts, policy)


def find_trigger_by_counts(counts: ToolCallCounts, policy: SynthesisPolicy) -> str:
    """Return as `find_trigger`, from the counts of a run."""
    if counts.calls >= policy.tools:
        return TOOL_CALLS
    return RECOVERY if policy.recovery and counts.has_recovery else ""
