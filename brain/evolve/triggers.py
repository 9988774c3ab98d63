"""Decide whether a run was hard, so that a skill can be learned from it."""

from __future__ import annotations

from collections.abc import Sequence

from ..receipts import RunStep
from ..repo.open.manifest import DEFAULT_SYNTHESIS, SynthesisPolicy

TOOL_CALLS = "tool_calls"
RECOVERY = "recovery"


def find_trigger(steps: Sequence[RunStep], policy: SynthesisPolicy = DEFAULT_SYNTHESIS) -> str:
    """Return the reason why a run was hard, "" if it was not.

    `tool_calls`: it made at least `policy.tools` tool calls. `recovery`: a call failed and a
    later one succeeded. Only steps of the kind "tool" count: changes of skills and memory by
    a call are steps of their own.
    """
    calls = [step for step in steps if step.kind == "tool"]
    if len(calls) >= policy.tools:
        return TOOL_CALLS
    return RECOVERY if policy.recovery and _has_recovery(calls) else ""


def _has_recovery(calls: Sequence[RunStep]) -> bool:
    failed = next((at for at, step in enumerate(calls) if step.error), len(calls))
    return any(not step.error for step in calls[failed + 1 :])
