"""`brain resolve`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import click

from ..command import OVERWRITES
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import TextType
from ..words import conflict

if TYPE_CHECKING:
    from brain.results import MergeConflict


class Resolved(NamedTuple):
    """All conflicts of the merge, decided or not."""

    conflicts: list[MergeConflict]


@brain_command(
    "resolve",
    examples=(
        "brain resolve",
        "brain resolve prompts/system.md --ours",
        "brain resolve skills/oracle-manipulation/SKILL.md --edited",
    ),
    exits=OVERWRITES,
)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=TextType("bad_path"))
@click.option("--ours", "choice", flag_value="ours", help="Take our side.")
@click.option("--theirs", "choice", flag_value="theirs", help="Take their side.")
@click.option("--both", "choice", flag_value="both", help="Keep both.")
@click.option(
    "--edited", "choice", flag_value="content", help="Take the file with markers, as edited."
)
def command(app: App, paths: tuple[str, ...], choice: str | None) -> None:
    """Decide conflicts of a merge, or list them.

    A text that both sides changed lies with markers under .brain/conflicts, where no
    agent reads it: edit it there and give --edited. `brain merge --continue` ends it.
    """
    if bool(paths) != bool(choice):
        raise click.UsageError("Give PATH with one of --ours, --theirs, --both and --edited.")
    rows = app.brain.resolve(paths, choice) if choice else app.brain.conflicts()
    emit(app, Resolved(rows), _lines(rows))


def _lines(rows: list[MergeConflict]) -> Iterator[str]:
    yield from map(conflict, rows)
    left = sum(row.choice is None for row in rows)
    if not rows:
        yield "No merge waits for a decision."
    elif left:
        yield f"{left} to decide"
    else:
        yield "All decided: finish with `brain merge --continue`"
