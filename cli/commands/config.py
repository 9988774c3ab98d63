"""`brain config`: the group."""

from __future__ import annotations

import click

from ..group import LazyGroup
from ..registry import CONFIG


@click.command(
    "config", cls=LazyGroup, table=CONFIG, epilog="'brain config COMMAND --help' tells more."
)
def command() -> None:
    """Say which ledgers there are, and which model."""
