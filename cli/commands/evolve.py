"""`brain evolve`: the group."""

from __future__ import annotations

import click

from ..group import LazyGroup
from ..registry import EVOLVE


@click.command(
    "evolve", cls=LazyGroup, table=EVOLVE, epilog="'brain evolve COMMAND --help' tells more."
)
def command() -> None:
    """Learn from work that was done."""
