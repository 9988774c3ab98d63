"""`brain key roots`."""

from __future__ import annotations

import click

from .. import keys, roots
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import TextType


@brain_command(
    "roots",
    examples=(
        "brain key roots",
        "brain key roots --add ed25519:"
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "brain key roots --remove laptop --json",
    ),
    exits=(0, 1, 2, 10, 130),
)
@click.option(
    "--add",
    multiple=True,
    type=TextType("bad_key"),
    metavar="KEY",
    help="Pin a key that you know from elsewhere; may be repeated.",
)
@click.option(
    "--remove",
    multiple=True,
    type=TextType("bad_key"),
    metavar="KEY",
    help="Pin a key no longer; may be repeated.",
)
def command(app: App, add: tuple[str, ...], remove: tuple[str, ...]) -> None:
    """Show or change the root keys pinned for this brain.

    All of them must have signed its first trust file. They are kept in your settings,
    or in the file that BRAIN_ROOTS names, and asked for by 'brain verify', 'brain
    prompt' and what agents are served. KEY is as for 'brain key trust'.
    """
    from brain.trust import roots as pins

    brain, path = app.brain.id, roots.path()
    if add or remove:
        found = pins.change(
            path, brain, list(map(keys.public, add)), list(map(keys.public, remove))
        )
    else:
        found = pins.pinned(path, brain)
    document = {"brain": brain, "roots": found, "path": str(path)}
    emit(app, document, found or ["No root key is pinned for this brain"])
