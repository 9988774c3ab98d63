"""`brain key trust`."""

from __future__ import annotations

import click

from .. import keys, roots
from ..command import WRITES
from ..command import command as brain_command
from ..context import App
from ..params import Once, TextType
from ..trusting import change, signing_options


@brain_command(
    "trust",
    examples=(
        "brain key trust default --as auditor",
        "brain key trust ed25519:3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
        " --as ada",
    ),
    exits=WRITES,
)
@click.argument("key", type=TextType("bad_key"))
@click.option(
    "--as",
    "name",
    cls=Once,
    required=True,
    type=TextType(),
    metavar="NAME",
    help="What to call it in the trust file.",
)
@signing_options
def command(app: App, key: str, name: str, own: str | None, passphrase_file: str | None) -> None:
    """Let a key sign the snapshots of this brain.

    KEY is 'ed25519:' and 64 hex digits, or the name of a key of your own. The first
    one makes trust.json; from then on every snapshot has to be signed by who may. The
    change is a snapshot, which your own key signs; whoever signs the first one is pinned
    as root key, if none is: see 'brain key roots'.
    """
    public = keys.public(key)
    done = change(app, own, passphrase_file, lambda brain: brain.trust_key(public, name))
    if done.signature and len(done.keys) == 1:
        roots.begin(app, app.brain.id, [one.key for one in app.brain.signatures(done.snapshot)])
