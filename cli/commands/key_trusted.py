"""`brain key trusted`."""

from __future__ import annotations

import click

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import FilledType
from ..trusting import rights


@brain_command("trusted", examples=("brain key trusted", "brain key trusted @~3 --json"))
@click.argument("rev", metavar="[REV]", required=False, type=FilledType())
def command(app: App, rev: str | None) -> None:
    """List who may sign what comes next.

    REV is the snapshot whose trust file is read, by default the head.
    """
    found = app.brain.trusted(rev or "@")
    lines = rights(found.threshold, found.keys) if found.keys else ["No trust file: nobody must"]
    emit(app, found, lines)
