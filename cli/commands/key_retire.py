"""`brain key retire`."""

from __future__ import annotations

import click

from .. import keys
from ..command import WRITES
from ..command import command as brain_command
from ..context import App
from ..params import FilledType, Once, TextType
from ..trusting import change, signing_options


@brain_command(
    "retire",
    examples=("brain key retire old --key new", "brain key retire old --until @~2 --key new"),
    exits=WRITES,
)
@click.argument("key", type=TextType("bad_key"))
@click.option(
    "--until",
    cls=Once,
    type=FilledType(),
    metavar="REV",
    help="The snapshot that ends its rights.  [default: @]",
)
@signing_options
def command(
    app: App, key: str, until: str | None, own: str | None, passphrase_file: str | None
) -> None:
    """End the rights of a key; what it signed stays good.

    To change a key for another one, trust the new one first. KEY is as for 'brain key
    trust'.
    """
    public = keys.public(key)
    change(app, own, passphrase_file, lambda brain: brain.end_key(public, until or "@"))
