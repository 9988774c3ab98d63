"""`brain tools`: the group."""

from __future__ import annotations

import click

from ..group import LazyGroup
from ..registry import TOOLS


@click.command(
    "tools", cls=LazyGroup, table=TOOLS, epilog="'brain tools COMMAND --help' tells more."
)
def command() -> None:
    """Give a model its tools, or call one yourself."""
