"""`brain skill view`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import FilledType, Once, SlugType
from ..streams import write
from ..terminal import escape, escape_lines, is_terminal
from ..text import paint

if TYPE_CHECKING:
    from brain.results import SkillView


@brain_command(
    "view",
    examples=("brain skill view oracle-manipulation", "brain skill view oracle-manipulation@1"),
)
@click.argument("slug", type=SlugType())
@click.option("--rev", cls=Once, type=FilledType(), metavar="REV", help="The state to read from.")
def command(app: App, slug: str, rev: str | None) -> None:
    """Print the body of a skill.

    SLUG@VERSION names an earlier version. A pipe gets the body and nothing else.
    """
    view = app.brain.view_skill(slug, rev or "@")
    if app.json or is_terminal(sys.stdout):
        emit(app, view, _lines(view))
    else:
        write(view.body)


def _lines(view: SkillView) -> Iterator[str]:
    yield paint(escape(f"{view.slug}  version {view.version}  {view.path}"), "cyan")
    if view.description:
        yield escape(view.description)
    yield ""
    yield escape_lines(view.body.strip("\n"))
    others = [path for path in view.files if path != view.path]
    if others:
        yield ""
        yield from (paint(escape(path), "cyan") for path in others)
