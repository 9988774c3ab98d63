"""`brain key new`."""

from __future__ import annotations

import click

from .. import keys
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import Once, TextType
from ..terminal import escape


@brain_command(
    "new",
    examples=("brain key new", "brain key new work --passphrase"),
    exits=(0, 1, 2, 12, 130),
)
@click.argument("name", metavar="[NAME]", required=False, type=TextType("bad_name"))
@click.option("--passphrase", is_flag=True, help="Ask for a passphrase to lock the key with.")
@click.option(
    "--passphrase-file",
    cls=Once,
    type=TextType(),
    metavar="FILE",
    help="Lock the key with the first line of FILE.  [env: BRAIN_PASSPHRASE_FILE]",
)
def command(app: App, name: str | None, passphrase: bool, passphrase_file: str | None) -> None:
    """Make a key of your own.

    It is kept in a file for you alone, below your settings or in the folder that
    BRAIN_KEYS names, never in a brain. NAME is 'default' unless given. What is
    printed is the public key: give it to whoever shall trust you.
    """
    from brain.trust import keyfile
    from brain.trust.statement import key_text

    word = keys.given(passphrase_file)
    if passphrase and not word:
        word = keys.asked("Passphrase", keys.FROM_FILE, twice=True)
    here = keys.folder()
    made = keyfile.create(here, name or keys.DEFAULT, word)
    public = key_text(made.key)
    path = str(here / f"{made.name}{keyfile.SUFFIX}")
    document = {"name": made.name, "key": public, "encrypted": made.encrypted, "path": path}
    emit(app, document, [public])
    app.note(f"Key {made.name} is in {escape(path)}")
