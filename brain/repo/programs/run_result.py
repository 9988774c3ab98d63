"""The result of a run of a program."""

from __future__ import annotations

from collections.abc import Sequence

from ...results import ProgramCall, ProgramRun
from ...running.broker import BrokerCall
from ...running.run_program import RunOutcome
from ...skills.skill_version import version_value
from .admission import Runnable


def describe_run(
    runnable: Runnable, outcome: RunOutcome, calls: Sequence[BrokerCall]
) -> ProgramRun:
    """Return how a program ran, and what it asked for."""
    return ProgramRun(
        slug=runnable.skill.slug,
        version=version_value(runnable.skill.card.version),
        program=runnable.program.id.hex(),
        ok=outcome.ok,
        output=outcome.output,
        error=outcome.error,
        wall_ms=outcome.wall_ms,
        refused=outcome.refused,
        calls=[
            ProgramCall(
                kind=call.kind,
                caller=call.caller,
                target=call.target,
                depth=call.depth,
                error=call.error,
                bytes=call.bytes,
                wall_ms=call.wall_ms,
            )
            for call in calls
        ],
    )
