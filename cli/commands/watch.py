"""`brain watch`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from brain.errors import BrainError

from .. import signals
from ..command import WRITES
from ..command import command as brain_command
from ..context import App
from ..errors import USAGE, Failure, describe, report
from ..ledgers import outcome, refuse
from ..output import emit_now
from ..params import Once, SecondsType
from ..streams import say
from ..terminal import escape
from ..text import short
from ..words import notices

if TYPE_CHECKING:
    from brain.results import Watched
    from brain.watching import Failed

QUIET = 0.5
LONGEST = 10.0


@brain_command(
    "watch",
    examples=("brain watch", "brain watch --quiet 2 --longest 60", "brain watch --json"),
    exits=WRITES,
    json_help="Print one JSON document a line, for each snapshot.",
)
@click.option(
    "--quiet",
    cls=Once,
    type=SecondsType(),
    metavar="SECONDS",
    help=f"Record when nothing changed for so long.  [{QUIET}]",
)
@click.option(
    "--longest",
    cls=Once,
    type=SecondsType(),
    metavar="SECONDS",
    help=f"Record at the latest so long after a change.  [{LONGEST:g}]",
)
def command(app: App, quiet: float | None, longest: float | None) -> None:
    """Record what any program changes, as it changes.

    What changed while nobody watched is recorded first. Then a snapshot is made
    whenever files changed, by an editor, an agent or anything else, and its message
    says what. Ctrl-C or SIGTERM ends it, when what waits is recorded. What cannot be
    recorded is told on stderr and tried again with the next change.
    """
    from brain.watching import Failed, Watch

    _refuse_echo(app.brain.root)
    wait = QUIET if quiet is None else quiet
    with (
        Watch(app.brain, wait, LONGEST if longest is None else longest) as watch,
        signals.asking(watch.stop),
    ):
        _tell(app, watch.catch_up())
        app.note(f"Watching {escape(str(app.brain.root))}; Ctrl-C ends it")
        for step in watch.run():
            if isinstance(step, Failed):
                _complain(app, step)
            else:
                _tell(app, step)


def _refuse_echo(root: Path) -> None:
    """Refuse to print into a file of the brain: each line would be a change to record."""
    for number in (1, 2):
        try:
            printed = Path(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:  # a system that does not say
            continue
        if printed.is_file() and printed.is_relative_to(root.resolve()):
            raise Failure(
                "prints_into_brain",
                f"what it prints would go into the brain it watches: {escape(str(printed))}",
                "write to a file outside of the brain",
                USAGE,
            )


def _tell(app: App, done: Watched | None) -> None:
    if done is not None:
        for line in notices(done.notices):
            app.note(line)
        emit_now(app, done, _lines(done))
        try:
            refuse(done.commitment)
        except BrainError as error:
            report(describe(error), as_json=app.json)


def _complain(app: App, failed: Failed) -> None:
    report(describe(failed.error), as_json=app.json)
    if not app.json:
        say("It is tried again with the next change.")


def _lines(done: Watched) -> Iterator[str]:
    yield f"Snapshot {short(done.snapshot)}: {escape(done.message)}"
    yield from outcome(done.commitment)
