"""`brain key threshold`."""

from __future__ import annotations

import click

from ..command import WRITES
from ..command import command as brain_command
from ..context import App
from ..params import CountType
from ..trusting import change, signing_options


@brain_command("threshold", examples=("brain key threshold 2",), exits=WRITES)
@click.argument("number", metavar="N", type=CountType())
@signing_options
def command(app: App, number: int, own: str | None, passphrase_file: str | None) -> None:
    """Say how many keys have to sign.

    From the next snapshot on, N different keys that may have to sign each one; 'brain
    sign' adds a signature.
    """
    change(app, own, passphrase_file, lambda brain: brain.set_threshold(number))
