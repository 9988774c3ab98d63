"""`brain chain authorize`."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from .. import chains
from ..command import OVERWRITES
from ..command import command as brain_command
from ..context import App
from ..ledgers import chain_option
from ..output import emit
from ..params import CountType, FilledType, Once
from ..terminal import escape


@brain_command(
    "authorize",
    examples=("brain chain authorize -o permit.json --ledger sepolia --hours 2",),
    exits=(*OVERWRITES[:3], 3, *OVERWRITES[3:]),
)
@click.argument("rev", metavar="[REV]", required=False, type=FilledType())
@chain_option
@click.option("--hours", cls=Once, type=CountType(), help="How long it may be sent.  [default: 24]")
@click.option(
    "-o", "--output", cls=Once, metavar="FILE", help="Write it to FILE, not to the screen."
)
def command(
    app: App, rev: str | None, ledger: str | None, hours: int | None, output: str | None
) -> None:
    """Sign a commitment that somebody else may send.

    The owner or the signer of the brain signs, and whoever has the file pays, with
    `brain chain relay`. It is good for this one commitment, on this one chain, until
    its time is over or another commitment comes first.
    """
    if hours == 0:
        raise click.UsageError("--hours has to be 1 or more.")
    chain = chains.needed(app, ledger)
    wish = app.brain.wish_for(chain, rev or "@")
    deadline = int(time.time()) + (24 if hours is None else hours) * 3600
    said = chain.authorize(*wish, deadline)
    text = json.dumps(said, indent=2) + "\n"
    if output is not None:
        Path(output).write_text(text, "utf-8")
    document = {**said, "ledger": chain.name, "file": output}
    emit(app, document, [f"Signed, in {escape(output)}"] if output else [text.rstrip("\n")])
