"""`brain config ledger`."""

from __future__ import annotations

from typing import Any

import click

from ..command import command as brain_command
from ..configured import described, lines, merged
from ..context import App
from ..ledgers import book
from ..output import emit
from ..params import CountType, Once, TextType

_TEXT = TextType("bad_ledger")


@brain_command(
    "ledger",
    examples=(
        "brain config ledger sepolia --rpc http://localhost:8545 --keystore ~/keys/sepolia.json",
        "brain config ledger sepolia --contract 0x5fbdb2315678afecb367f032d93f642f64180aa3",
    ),
    exits=(0, 1, 2, 130),
)
@click.argument("name", type=_TEXT)
@click.option(
    "--rpc", multiple=True, type=_TEXT, metavar="URL", help="A node to ask; may be repeated."
)
@click.option("--quorum", cls=Once, type=CountType(), help="How many nodes have to agree.")
@click.option("--chain-id", cls=Once, type=CountType(), help="The chain, where NAME is none known.")
@click.option("--genesis", cls=Once, type=_TEXT, metavar="HASH", help="The hash of its block 0.")
@click.option("--contract", cls=Once, type=_TEXT, metavar="ADDRESS", help="The registry there.")
@click.option("--creator", cls=Once, type=_TEXT, metavar="ADDRESS", help="Who opened the brains.")
@click.option("--since", cls=Once, type=CountType(), help="The block that has the contract.")
@click.option(
    "--finality",
    cls=Once,
    type=_TEXT,
    metavar="WHEN",
    help="What counts as final: safe, finalized, or so many blocks on top.",
)
@click.option("--max-fee-gwei", cls=Once, type=_TEXT, metavar="GWEI", help="The most for one gas.")
@click.option("--max-cost-wei", cls=Once, type=_TEXT, metavar="WEI", help="The most for one call.")
@click.option(
    "--keystore", cls=Once, type=_TEXT, metavar="FILE", help="The key that sends: keystore v3."
)
def command(app: App, name: str, **given: Any) -> None:
    """Add a ledger on a chain, or change one.

    What is not given stays as it was. mainnet, sepolia, base and base-sepolia are known
    by chain id and first block; of another chain, named otherwise, both are asked of the
    nodes now and kept, so that no other chain passes for it later.
    """
    from brain.chain import book as settings

    kept = merged(name, settings.load(book()).get(name, {}), given)
    settings.save(book(), name, kept)
    told = described(name, kept)
    emit(app, told, lines(told))
