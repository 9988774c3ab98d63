"""`brain skill delete`."""

from __future__ import annotations

import click

from ..command import OVERWRITES
from ..command import command as brain_command
from ..context import App
from ..ledgers import outcome, refuse
from ..output import emit
from ..params import SlugType
from ..terminal import escape
from ..text import short


@brain_command("delete", examples=("brain skill delete oracle-manipulation",), exits=OVERWRITES)
@click.argument("slug", type=SlugType())
def command(app: App, slug: str) -> None:
    """Remove a skill; its history stays.

    A skill of the same name made later continues its versions. 'brain undo' takes
    the removal back.
    """
    done = app.brain.delete_skill(slug)
    emit(
        app,
        done,
        [
            escape(f"{done.slug} removed at version {done.version}"),
            f"Snapshot {short(done.snapshot)}, bundle {short(done.bundle)}",
            *outcome(done.commitment),
        ],
    )
    refuse(done.commitment)
