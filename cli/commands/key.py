"""`brain key`: the group."""

from __future__ import annotations

import click

from ..group import LazyGroup
from ..registry import KEY


@click.command("key", cls=LazyGroup, table=KEY, epilog="'brain key COMMAND --help' tells more.")
def command() -> None:
    """Make keys, and say whose signatures count."""
