"""`brain skill history`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import SlugType
from ..text import columns, first_line, short, when

if TYPE_CHECKING:
    from brain.results import SkillVersion


@brain_command("history", examples=("brain skill history oracle-manipulation",))
@click.argument("slug", type=SlugType())
def command(app: App, slug: str) -> None:
    """List the versions of a skill, newest first.

    'brain skill revert SLUG --to VERSION' brings one back.
    """
    versions = app.brain.skill_history(slug)
    emit(app, {"slug": slug, "versions": versions}, _lines(versions))


def _lines(versions: list[SkillVersion]) -> Iterator[str]:
    yield from columns(
        (
            str(item.version),
            item.change,
            short(item.snapshot),
            when(item.time),
            item.author,
            first_line(item.message),
        )
        for item in versions
    )
