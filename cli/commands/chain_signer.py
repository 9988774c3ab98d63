"""`brain chain signer`."""

from __future__ import annotations

import click

from .. import chains
from ..command import command as brain_command
from ..context import App
from ..ledgers import chain_option
from ..output import emit
from ..params import TextType
from ..prices import done_by, sent_lines
from ..terminal import escape


@brain_command(
    "signer",
    examples=(
        "brain chain signer 0x70997970c51812dc3a010c7d01b50e0d17dc79c8 --ledger sepolia",
        "brain chain signer --none --ledger sepolia",
    ),
    exits=(0, 1, 2, 10, 11, 130),
)
@click.argument("address", required=False, type=TextType("bad_address"))
@click.option("--none", "nobody", is_flag=True, help="Let nobody but the owner commit.")
@chain_option
def command(app: App, address: str | None, nobody: bool, ledger: str | None) -> None:
    """Let another account commit this brain.

    It takes the place of the one before, and can do nothing but commit. Only the owner
    may say so; so the owner's key can stay in a safe.
    """
    if (address is None) != nobody:
        raise click.UsageError("Give either ADDRESS or --none.")
    chain = chains.needed(app, ledger)
    sent = chain.set_signer(bytes.fromhex(app.brain.id), address or "")
    said = f"Signer is {address}" if address else "Nobody but the owner can commit"
    lines = [escape(done_by(sent, said)), *sent_lines(sent)]
    emit(app, chains.done(chain, app.brain.id, sent), lines)
