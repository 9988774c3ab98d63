"""`brain proposal`: the group."""

from __future__ import annotations

import click

from ..group import LazyGroup
from ..registry import PROPOSAL


@click.command(
    "proposal",
    cls=LazyGroup,
    table=PROPOSAL,
    epilog="'brain proposal COMMAND --help' tells more.",
)
def command() -> None:
    """See what agents propose, and decide."""
