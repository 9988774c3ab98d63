"""`brain key revoke`."""

from __future__ import annotations

import click

from .. import keys
from ..command import WRITES
from ..command import command as brain_command
from ..context import App
from ..params import Once, TextType
from ..trusting import change, signing_options


@brain_command(
    "revoke",
    examples=(
        'brain key revoke laptop --reason "lost on a train" --key default',
        'brain key revoke laptop --reason "stolen" --since @~3 --key default',
    ),
    exits=WRITES,
)
@click.argument("key", type=TextType("bad_key"))
@click.option(
    "--reason", cls=Once, required=True, type=TextType(), metavar="TEXT", help="Why, for people."
)
@click.option(
    "--since",
    cls=Once,
    type=TextType(),
    metavar="REV",
    help="The first snapshot not to believe any more (default: none it signed counts).",
)
@signing_options
def command(
    app: App,
    key: str,
    reason: str,
    since: str | None,
    own: str | None,
    passphrase_file: str | None,
) -> None:
    """Let no signature of a key count any more.

    Snapshots it signed since REV are then refused until enough others who had the
    right sign them too. KEY is as for 'brain key trust'.
    """
    public = keys.public(key)
    change(app, own, passphrase_file, lambda brain: brain.revoke_key(public, reason, since or ""))
