"""`brain proposal show`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..command import command as brain_command
from ..context import App
from ..output import emit, to_json
from ..params import TextType
from ..terminal import escape, escape_lines
from ..text import short
from ..words import path_change, skill_change, unshown

if TYPE_CHECKING:
    from brain.results import Proposal, Unshown


@brain_command("show", examples=("brain proposal show claude-code",))
@click.argument("name", type=TextType())
def command(app: App, name: str) -> None:
    """Show what a proposal would change.

    NAME is as in `brain proposal list`, or a snapshot of it. What cannot be shown as
    text is told with its kind, size and id. The last line says how to accept exactly
    what is shown: what is proposed after it is not part of it.
    """
    found = app.brain.show_proposal(name)
    diff = app.brain.diff(found.base, found.snapshot)
    pieces, hidden = app.brain.patch(diff), app.brain.unshown(diff)
    if app.json:
        emit(app, {**to_json(found), "patch": "".join(pieces), "unshown": to_json(hidden)}, ())
    else:
        emit(app, found, _lines(app, found, pieces, hidden))


def _lines(
    app: App, found: Proposal, pieces: Iterator[str], hidden: list[Unshown]
) -> Iterator[str]:
    for made in reversed(found.made):
        by = f" by {escape(made.author)}" if made.author else ""
        yield f"{short(made.snapshot)}{by}: {escape(made.message.strip()) or 'no message'}"
    yield from map(skill_change, found.skills)
    for change in found.changes:
        if change.section != "skills":
            yield path_change(change)
    yield ""
    for piece in pieces:
        yield escape_lines(piece.rstrip("\n"))
    yield ""
    if hidden:
        yield "Not shown above:"
        yield from map(unshown, hidden)
        yield f"To look at them: {app.call} fork FOLDER --rev {short(found.snapshot)}"
        yield ""
    more = " --unshown" if any(one.after for one in hidden) else ""
    yield f"To accept this: {app.call} proposal accept {found.snapshot}{more}"
