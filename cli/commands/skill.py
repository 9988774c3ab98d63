"""`brain skill`: the group."""

from __future__ import annotations

import click

from ..group import LazyGroup
from ..registry import SKILL


@click.command(
    "skill", cls=LazyGroup, table=SKILL, epilog="'brain skill COMMAND --help' tells more."
)
def command() -> None:
    """Write, read and check skills."""
