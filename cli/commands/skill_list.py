"""`brain skill list`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import FilledType, Once
from ..terminal import width
from ..text import columns

if TYPE_CHECKING:
    from brain.results import Skill


@brain_command("list", examples=("brain skill list", "brain skill list --rev @~3 --json"))
@click.option("--rev", cls=Once, type=FilledType(), metavar="REV", help="The state to list.")
def command(app: App, rev: str | None) -> None:
    """List the skills.

    One line each: slug, version, description.
    """
    found = app.brain.skills(rev or "@")
    emit(app, {"skills": found}, _lines(found))


def _lines(found: list[Skill]) -> Iterator[str]:
    rows = [(skill.slug, str(skill.version), skill.description) for skill in found]
    yield from columns(rows, width(sys.stdout))
