"""The command `brain evolve gaps`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from brain.errors import printable_text

from ...command import READ_EXITS, brain_command, flag, option
from ...context import App
from ...output import emit, emit_line
from ...params import CountType
from ...render.human_format import align_columns, local_time
from ...terminal import escape, terminal_width

if TYPE_CHECKING:
    from brain.results import FailedGoal, OpenGaps

_GOAL_CHARS = 60
_DEFAULT_EVENTS = 100


@brain_command(
    "gaps",
    examples=("brain evolve gaps", "brain evolve gaps --log > capability_evolution.log"),
    exits=READ_EXITS,
)
@flag("--log", help="Print the audit instead, one JSON object per line, oldest first.")
@option(
    "--last",
    type=CountType(),
    metavar="COUNT",
    help="How many events --log prints.  [default: 100]",
)
def evolve_gaps_command(app: App, log: bool, last: int | None) -> None:
    """Show goals that fail repeatedly, and what would be learned.

    One line each, those that failed last first: the goal, how often it failed in a row, its
    score, when it failed last, and what would happen to it. A gap is attempted above a score of
    0.50, at most twice an hour and five times a day. Each event is in the audit, also what was
    below the score and what the limits stopped.

    With --log, --json prints one document per line for each event.
    """
    if log:
        for event in app.brain.gaps.log(_DEFAULT_EVENTS if last is None else last):
            emit_line(app, event, [json.dumps(event._asdict())])
        return
    found = app.brain.gaps.list()
    emit(app, found, _gap_lines(found))


def _gap_lines(found: OpenGaps) -> Iterator[str]:
    if found.gaps:
        head = ("GOAL", "FAILED", "SCORE", "LAST", "NEXT")
        rows = [head, *map(_gap_row, found.gaps)]
        yield from align_columns(rows, terminal_width(sys.stdout))
    else:
        yield "No goal fails."
    yield ""
    uses = ", ".join(f"{rate.used} of {rate.most} {rate.name}" for rate in found.rates)
    every = "every hour" if found.periodic else "as they are queued alone"
    yield f"Mode {found.mode}; gaps are looked for {every}; attempts: {uses}"


def _gap_row(gap: FailedGoal) -> tuple[str, ...]:
    goal = printable_text(" ".join(gap.goal.split()), _GOAL_CHARS)
    at_tool = f" ({printable_text(gap.tool, 20)})" if gap.tool else ""
    return (
        escape(f"{goal}{at_tool}"),
        str(gap.failures),
        gap.score,
        local_time(gap.last),
        escape(gap.next),
    )
