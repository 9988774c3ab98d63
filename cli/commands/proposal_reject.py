"""`brain proposal reject`."""

from __future__ import annotations

import click

from ..command import WRITES
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import TextType
from ..terminal import escape
from ..text import short


@brain_command("reject", examples=("brain proposal reject claude-code",), exits=WRITES)
@click.argument("name", type=TextType())
def command(app: App, name: str) -> None:
    """Remove a proposal.

    NAME is as in `brain proposal list`. `brain undo` brings it back. What its agent
    writes next begins at the head again.
    """
    gone = app.brain.reject_proposal(name)
    emit(app, gone, [f"Rejected {escape(gone.name)}, which stood at {short(gone.snapshot)}"])
