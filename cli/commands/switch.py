"""`brain switch`."""

from __future__ import annotations

import click

from ..command import OVERWRITES
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import BranchType
from ..progress import Bar
from ..terminal import escape
from ..text import count, short
from ..words import left_out


@brain_command(
    "switch", examples=("brain switch try-idea", "brain switch --new try-idea"), exits=OVERWRITES
)
@click.argument("name", type=BranchType())
@click.option("--new", is_flag=True, help="Make the branch first, at the head.")
def command(app: App, name: str, new: bool) -> None:
    """Go on with another branch.

    The folder becomes what the branch holds. What would be overwritten and no
    snapshot has is recorded first, on the branch that is left.
    """
    if new:
        app.brain.create_branch(name)
    with Bar(app) as bar:
        done = app.brain.switch(name, progress=bar)
    files = f"{count(len(done.written), 'file')} written, {len(done.removed)} removed"
    files += left_out(done.redacted)
    emit(app, done, [f"On {escape(done.branch)} at {short(done.snapshot)}; {files}"])
