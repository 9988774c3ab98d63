"""`brain index`."""

from __future__ import annotations

import click

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import CountType, Once


@brain_command("index", examples=("brain index", "brain index --budget 2000"))
@click.option(
    "--limit", cls=Once, type=CountType(), metavar="CHARS", help="Cut a description at CHARS."
)
@click.option(
    "--budget", cls=Once, type=CountType(), metavar="TOKENS", help="At most TOKENS in all."
)
def command(app: App, limit: int | None, budget: int | None) -> None:
    """Print the Level-0 index: one line per skill.

    It is read from the head; bodies never enter it. Tokens are estimated as bytes / 4.
    """
    found = app.brain.index(limit=limit, budget=budget)
    emit(app, found, [found.index.rstrip("\n")])
