"""`brain fork`."""

from __future__ import annotations

import shlex

import click

from .. import roots
from ..command import WRITES
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import FilledType, Once, TextType
from ..progress import Bar
from ..terminal import escape
from ..text import short
from ..trusting import advice


@brain_command(
    "fork",
    examples=("brain fork ../child-agent", "brain fork ../child-agent --rev @~3"),
    exits=WRITES,
)
@click.argument("directory", metavar="DIR", type=TextType("bad_path"))
@click.option(
    "--rev", cls=Once, type=FilledType(), help="The snapshot to begin from.  [default: @]"
)
def command(app: App, directory: str, rev: str | None) -> None:
    """Begin a brain of its own from a snapshot of this one.

    DIR is a new or empty folder. The first snapshot of the fork names the one it
    came from, and the lineage behind that comes along, so `brain ancestry` proves
    in the fork alone where it comes from.
    """
    with Bar(app) as bar:
        done = app.brain.fork(directory, rev or "@", progress=bar)
    emit(
        app,
        done,
        [
            f"Brain {short(done.brain)} in {escape(done.path)}",
            f"It descends from {short(done.origin)}",
        ],
    )
    _ask_for_signatures(app, done.path)


def _ask_for_signatures(app: App, path: str) -> None:
    """Say who has to sign the first snapshot of a fork, if its trust file asks for that."""
    from brain import Brain

    with Brain.open(path) as child:
        roots.begin(app, child.id, [made.key for made in child.signatures()])
        if child.unsigned():
            signed = [made.key for made in child.signatures()]
            call = f"brain -C {escape(shlex.quote(path))} sign"
            asked = advice(child.trusted(), call, signed)
            app.note(f"Note: 'brain verify' refuses the fork until it is signed: {asked}")
