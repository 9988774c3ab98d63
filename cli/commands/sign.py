"""`brain sign`."""

from __future__ import annotations

import click

from .. import keys
from ..command import WRITES
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import TextType
from ..text import short
from ..trusting import signing_options


@brain_command("sign", examples=("brain sign", "brain sign @~1 --key work"), exits=WRITES)
@click.argument("rev", metavar="[REV]", required=False, type=TextType())
@signing_options
def command(app: App, rev: str | None, own: str | None, passphrase_file: str | None) -> None:
    """Sign a snapshot with one of your keys.

    REV is by default the head. With BRAIN_SIGN_KEY set to the name of a key of yours,
    every snapshot that a command records is signed when it is recorded.
    """
    seed = keys.private(keys.needed(own), passphrase_file)
    made = app.brain.sign(rev or "@", key=seed)
    emit(app, made, [f"{short(made.snapshot)} signed by {made.key}"])
