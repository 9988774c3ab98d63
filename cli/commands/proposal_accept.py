"""`brain proposal accept`."""

from __future__ import annotations

import click

from ..command import OVERWRITES
from ..command import command as brain_command
from ..context import App
from ..merged import report
from ..params import Once, TextType
from ..progress import Bar


@brain_command(
    "accept",
    examples=(
        "brain proposal accept 5d1e2f3a9b0c",
        "brain proposal accept 5d1e2f3a9b0c --unshown",
    ),
    exits=OVERWRITES,
)
@click.argument("snapshot", type=TextType())
@click.option("--message", "-m", cls=Once, type=TextType(), help="Why, for the log.")
@click.option("--unshown", is_flag=True, help="Take in also what was named but not shown.")
def command(app: App, snapshot: str, message: str | None, unshown: bool) -> None:
    """Merge what you looked at into this branch.

    SNAPSHOT is the id that `brain proposal show` ends with, or its beginning. A name is
    not taken, for what it leads to may have changed since. If new snapshots are
    signed, those that come in are, too, also by the `brain merge --continue` that
    finishes it after conflicts.
    """
    with Bar(app) as bar:
        done = app.brain.accept_proposal(
            snapshot, message or "", progress=bar, also_unshown=unshown
        )
    report(app, done)
