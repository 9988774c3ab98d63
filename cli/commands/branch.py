"""`brain branch`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..command import OVERWRITES
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import BranchType, FilledType
from ..terminal import escape
from ..text import paint, short

if TYPE_CHECKING:
    from brain.results import Branches


@brain_command(
    "branch",
    examples=("brain branch", "brain branch try-idea", "brain branch --delete try-idea"),
    exits=OVERWRITES,
)
@click.argument("name", required=False, type=BranchType())
@click.argument("rev", required=False, type=FilledType())
@click.option("--delete", is_flag=True, help="Remove NAME, if another branch holds its work.")
def command(app: App, name: str | None, rev: str | None, delete: bool) -> None:
    """List branches, make one, or remove one.

    A new branch stands at REV, by default at the head; `brain switch` goes to it.
    """
    if name is None:
        if delete:
            raise click.UsageError("Missing argument 'NAME': the branch to remove.")
    elif delete:
        app.brain.delete_branch(name)
        app.note(f"Removed {escape(name)}")
    else:
        app.brain.create_branch(name, rev or "@")
    found = app.brain.branches()
    emit(app, found, _lines(found))


def _lines(found: Branches) -> Iterator[str]:
    for branch in found.branches:
        mark = paint("*", "green") if branch.current else " "
        yield f"{mark} {short(branch.snapshot)} {escape(branch.name)}"
