"""`brain ancestry`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..command import READS
from ..command import command as brain_command
from ..context import App
from ..errors import Failure
from ..output import emit
from ..params import FilledType, Once
from ..text import short

if TYPE_CHECKING:
    from brain.results import Ancestry


@brain_command(
    "ancestry",
    examples=("brain ancestry @~3", "brain ancestry 1f0c2a --lineage lineage.bin"),
    exits=READS,
)
@click.argument("old", metavar="ANCESTOR", type=FilledType())
@click.argument("new", metavar="[REV]", required=False, type=FilledType())
@click.option(
    "--lineage", cls=Once, metavar="FILE", help="Ask a file of `brain lineage`, not a brain."
)
def command(app: App, old: str, new: str | None, lineage: str | None) -> None:
    """Tell whether a snapshot descends from another.

    Prints the way from REV, by default the head, down to ANCESTOR, also across
    forks. Each snapshot names the next: as parent, jump, or origin of the fork.
    With --lineage no brain is needed, and the snapshots are given by their ids.
    Ends with status 1 if there is no way.
    """
    if lineage is None:
        found = app.brain.ancestry(old, new or "@")
    else:
        from brain import Brain

        with open(lineage, "rb") as source:
            found = Brain.ancestry_in(source, old, new)
    emit(app, found, _lines(found))
    if not found.descends:
        raise Failure("not_an_ancestor", "the one does not descend from the other")


def _lines(found: Ancestry) -> Iterator[str]:
    if not found.descends:
        yield f"{short(found.descendant)} does not descend from {short(found.ancestor)}"
        return
    yield f"{short(found.descendant)} descends from {short(found.ancestor)}"
    for here in found.path:
        yield f"  {short(here)}"
