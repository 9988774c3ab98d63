"""`brain chain open`."""

from __future__ import annotations

import click

from ..command import OVERWRITES
from ..command import command as brain_command
from ..context import App
from ..ledgers import chosen, ledger_option, told
from ..output import emit
from ..params import FilledType
from ..prices import dry_run_option, priced


@brain_command(
    "open",
    examples=("brain chain open --ledger sepolia", "brain chain open --ledger sepolia --dry-run"),
    exits=(*OVERWRITES[:3], 3, *OVERWRITES[3:]),
)
@click.argument("rev", metavar="[REV]", required=False, type=FilledType())
@ledger_option
@dry_run_option
def command(app: App, rev: str | None, ledger: str | None, dry_run: bool) -> None:
    """Make the first commitment of this brain in a ledger.

    REV is by default the head. On a chain, the account that opens a brain is its first
    owner, and nobody else can open it in that account's name.
    """
    found = chosen(app, ledger)
    if dry_run:
        price = app.brain.quote_open(found, rev or "@")
        emit(app, price, priced(price))
        return
    done = app.brain.open_in(found, rev or "@")
    if done.transaction is not None:
        from .. import chains

        chains.keep_creator(found, done.sender)
    emit(app, done, told(done))
