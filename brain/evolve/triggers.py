"""Which runs are worth learning from."""

from __future__ import annotations

from collections.abc import Sequence

from ..receipts import RunStep
from ..repo.open.manifest import DEFAULT_SYNTHESIS, SynthesisPolicy

TOOL_CALLS = "tool_calls"
RECOVERY = "recovery"


def find_trigger(steps: Sequence[RunStep], policy: SynthesisPolicy = DEFAULT_SYNTHESIS) -> str:
    """Return why a task was hard, "" if it was not.

    `tool_calls`: it took `policy.tools` calls of tools or more. `recovery`: a call failed
    and a later one did not. What a call did to skills and memory are steps of their own,
    and are not counted again.
    """
    calls = [step for step in steps if step.kind == "tool"]
    if len(calls) >= policy.tools:
        return TOOL_CALLS
    return RECOVERY if policy.recovery and _has_recovery(calls) else ""


def _has_recovery(calls: Sequence[RunStep]) -> bool:
    failed = next((at for at, step in enumerate(calls) if step.error), len(calls))
    return any(not step.error for step in calls[failed + 1 :])
