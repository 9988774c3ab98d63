"""`brain receipt`: the group."""

from __future__ import annotations

import click

from ..group import LazyGroup
from ..registry import RECEIPT


@click.command(
    "receipt", cls=LazyGroup, table=RECEIPT, epilog="'brain receipt COMMAND --help' tells more."
)
def command() -> None:
    """See what agents did, and check that it is so."""
