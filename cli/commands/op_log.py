"""`brain op log`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import CountType, Once
from ..text import columns, when

if TYPE_CHECKING:
    from brain.results import Operation


@brain_command("log", examples=("brain op log", "brain op log -n 5 --json"))
@click.option(
    "-n", "--limit", cls=Once, type=CountType(), metavar="N", help="Show at most N operations."
)
def command(app: App, limit: int | None) -> None:
    """List operations, newest first.

    Every command that moved the head or a branch is one line, undo and redo too.
    """
    found = app.brain.operations(limit)
    emit(app, {"operations": found}, _lines(found))


def _lines(found: list[Operation]) -> Iterator[str]:
    yield from columns(
        (str(item.number), when(item.time), item.author, item.kind, item.description)
        for item in found
    )
