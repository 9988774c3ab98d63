"""`brain op`: the group."""

from __future__ import annotations

import click

from ..group import LazyGroup
from ..registry import OP


@click.command("op", cls=LazyGroup, table=OP, epilog="'brain op COMMAND --help' tells more.")
def command() -> None:
    """Look at the operation log."""
