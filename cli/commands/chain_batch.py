"""`brain chain batch`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from brain.errors import BrainError

from ..command import command as brain_command
from ..context import App
from ..ledgers import LOCAL, local
from ..output import emit
from ..params import Once, TextType
from ..prices import dry_run_option, ether, priced
from ..terminal import escape
from ..text import count, short

if TYPE_CHECKING:
    from brain.results import Batch


@brain_command(
    "batch",
    examples=("brain chain batch brains/*", "brain chain batch --ledger base brains/*"),
    exits=(0, 1, 2, 3, 11, 12, 130),
)
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=TextType("bad_path"))
@click.option(
    "--ledger",
    cls=Once,
    type=TextType("bad_ledger"),
    metavar="NAME",
    help="Anchor the log there, in one transaction.  [default: local, the log alone]",
)
@dry_run_option
def command(app: App, folders: tuple[str, ...], ledger: str | None, dry_run: bool) -> None:
    """Commit many brains at once.

    The heads of the brains in all DIR become entries of the log of this machine, in one
    step; and with a ledger on a chain the root of that log is kept there, in one
    transaction for any number of brains. `brain chain evidence` then gives each brain
    its own evidence. A brain that cannot be committed is named, and left out.
    """
    from brain import commit_batch

    chain = None
    if ledger not in (None, LOCAL):
        from .. import chains

        chain = chains.needed(app, ledger)
    with local() as log:
        if dry_run:
            from .. import chains

            asked = chain.quote_anchor(bytes(31) + b"\1", 1) if chain else None
            price = chains.quoted(chain or log, asked)
            emit(app, price, priced(price))
            return
        done = commit_batch(folders, log, chain, author=app.author)
    emit(app, done, _lines(done))
    if done.left:
        raise BrainError(
            f"{count(len(done.left), 'brain')} left out",
            code="left_out",
            hint="what keeps each of them is said above; the others are committed",
        )


def _lines(done: Batch) -> Iterator[str]:
    for one in done.committed:
        yield f"{short(one.brain)}: commitment {one.seq} of {short(one.snapshot)}"
    for left in done.left:
        yield escape(f"{left.path}: {left.message}")
    same = f", {done.unchanged} had nothing new" if done.unchanged else ""
    yield f"{count(len(done.committed), 'brain')} committed to {escape(done.ledger)}{same}"
    anchored = done.anchored
    if anchored is None:
        return
    yield f"Log of {anchored.size:,} anchored in {escape(anchored.ledger)}, {anchored.status}"
    if anchored.transaction is None:
        return  # it was there already
    yield f"Transaction {anchored.transaction}"
    if anchored.gas is not None and anchored.fee is not None:
        each = anchored.gas / max(len(done.committed) + done.unchanged, 1)
        yield f"Gas {anchored.gas:,}, {each:,.1f} a brain, {ether(anchored.fee)}"
