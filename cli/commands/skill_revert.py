"""`brain skill revert`."""

from __future__ import annotations

import click

from ..command import OVERWRITES
from ..command import command as brain_command
from ..context import App
from ..ledgers import outcome, refuse
from ..output import emit
from ..params import Once, SlugType, TextType
from ..terminal import escape
from ..text import short
from ..words import upserted


@brain_command(
    "revert", examples=("brain skill revert oracle-manipulation --to 1",), exits=OVERWRITES
)
@click.argument("slug", type=SlugType())
@click.option(
    "--to",
    "version",
    cls=Once,
    type=TextType(),
    metavar="VERSION",
    help="The version whose text comes back.  [required]",
)
def command(app: App, slug: str, version: str | None) -> None:
    """Bring back an earlier text as a new version.

    The lineage only grows: the text of VERSION is recorded under the next version.
    """
    if not version:
        raise click.UsageError("Missing option '--to': the version whose text comes back.")
    done = app.brain.revert_skill(slug, version)
    emit(
        app,
        done,
        [
            f"{upserted(done)} with the text of version {escape(version)}",
            f"Snapshot {short(done.snapshot)}, bundle {short(done.bundle)}",
            *outcome(done.commitment),
        ],
    )
    refuse(done.commitment)
