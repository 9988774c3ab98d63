"""`brain chain transfer`."""

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
    "transfer",
    examples=(
        "brain chain transfer 0x70997970c51812dc3a010c7d01b50e0d17dc79c8 --ledger sepolia",
        "brain chain transfer --withdraw --ledger sepolia",
    ),
    exits=(0, 1, 2, 10, 11, 130),
)
@click.argument("address", required=False, type=TextType("bad_address"))
@click.option("--withdraw", is_flag=True, help="Take an offer back.")
@chain_option
def command(app: App, address: str | None, withdraw: bool, ledger: str | None) -> None:
    """Offer this brain to another owner.

    It is theirs once they accept it, with `brain chain accept`, so that it cannot be
    given to an account that nobody has. The signer goes with the old owner.
    """
    if (address is None) != withdraw:
        raise click.UsageError("Give either ADDRESS or --withdraw.")
    chain = chains.needed(app, ledger)
    sent = chain.offer(bytes.fromhex(app.brain.id), address or "")
    said = f"Offered to {address}" if address else "The offer is withdrawn"
    lines = [escape(done_by(sent, said)), *sent_lines(sent)]
    emit(app, chains.done(chain, app.brain.id, sent), lines)
