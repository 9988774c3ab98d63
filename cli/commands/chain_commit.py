"""`brain chain commit`."""

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
    "commit",
    examples=("brain chain commit", "brain chain commit @~1 --ledger sepolia --dry-run"),
    exits=(*OVERWRITES[:3], 3, *OVERWRITES[3:]),
)
@click.argument("rev", metavar="[REV]", required=False, type=FilledType())
@ledger_option
@dry_run_option
def command(app: App, rev: str | None, ledger: str | None, dry_run: bool) -> None:
    """Record a snapshot in a ledger.

    REV is by default the head. It has to descend from what the ledger holds of this
    brain: a lineage that forked is merged first. Doing it again changes nothing and
    costs nothing. On a chain the cost is shown before anything is sent, and the
    brain has to be opened there once.
    """
    found = chosen(app, ledger)
    if dry_run:
        price = app.brain.quote_commit(found, rev or "@")
        emit(app, price, priced(price))
        return
    done = app.brain.commit(found, rev or "@")
    emit(app, done, told(done))
