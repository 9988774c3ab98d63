"""`brain blame`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import click

from ..command import command as brain_command
from ..context import App
from ..output import emit, iso
from ..params import FilledType, Once, SlugType
from ..terminal import escape
from ..text import short

if TYPE_CHECKING:
    from brain.results import BlameLine


class Blamed(NamedTuple):
    """The lines of a skill, each with the snapshot that wrote it."""

    lines: list[BlameLine]


@brain_command(
    "blame", examples=("brain blame oracle-manipulation", "brain blame oracle-manipulation --json")
)
@click.argument("slug", type=SlugType())
@click.option("--rev", cls=Once, type=FilledType(), help="The snapshot to look at.  [default: @]")
def command(app: App, slug: str, rev: str | None) -> None:
    """Tell which snapshot wrote each line of a skill.

    Lines are followed through merges and through renames. The JSON also names the
    receipt of the work that caused a line, where there is one.
    """
    rows = app.brain.blame(slug, rev or "@")
    emit(app, Blamed(rows), _lines(rows))


def _lines(rows: list[BlameLine]) -> Iterator[str]:
    width = max((len(row.author) for row in rows), default=0)
    for row in rows:
        author = escape(row.author[:20]).ljust(min(width, 20))
        yield f"{short(row.snapshot)} {author} {iso(row.time)[:10]} {row.line:4} {escape(row.text)}"
