"""`brain restore`."""

from __future__ import annotations

import click

from ..command import OVERWRITES
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import FilledType, TextType
from ..progress import Bar
from ..words import restored


@brain_command(
    "restore",
    examples=("brain restore @~1", "brain restore @~1 skills/oracle-manipulation"),
    exits=OVERWRITES,
)
@click.argument("rev", type=FilledType())
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=TextType("bad_path"))
def command(app: App, rev: str, paths: tuple[str, ...]) -> None:
    """Bring files back from a snapshot.

    PATH is a file or folder, from the top of the brain; without one, all files.
    What the folder holds and no snapshot does is recorded first; the restored
    state becomes a new snapshot.
    """
    with Bar(app) as bar:
        done = app.brain.restore(rev, paths, progress=bar)
    emit(app, done, [restored(done)])
