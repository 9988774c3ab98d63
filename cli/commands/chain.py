"""`brain chain`: the group."""

from __future__ import annotations

import click

from ..group import LazyGroup
from ..registry import CHAIN


@click.command(
    "chain", cls=LazyGroup, table=CHAIN, epilog="'brain chain COMMAND --help' tells more."
)
def command() -> None:
    """Record snapshots where others can see them."""
