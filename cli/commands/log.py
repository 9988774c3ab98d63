"""`brain log`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from .. import graph as lanes
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import CountType, FilledType, Once, SlugType
from ..streams import write_lines
from ..terminal import escape, width
from ..text import SHORT, first_line, paint, short, when
from ..words import operation

if TYPE_CHECKING:
    from brain.results import SnapshotInfo


@brain_command(
    "log",
    examples=("brain log -n 10", "brain log --graph", "brain log --skill oracle-manipulation"),
)
@click.argument("rev", metavar="[REV]", required=False, type=FilledType())
@click.option(
    "-n", "--limit", cls=Once, type=CountType(), metavar="N", help="Show at most N snapshots."
)
@click.option(
    "--skill", cls=Once, type=SlugType(), metavar="SLUG", help="Only where this skill changed."
)
@click.option("--graph", is_flag=True, help="Draw how the snapshots descend from each other.")
def command(app: App, rev: str | None, limit: int | None, skill: str | None, graph: bool) -> None:
    """List snapshots, newest first.

    REV is where to begin (default: @, the head).
    """
    found = app.brain.log(rev or "@", limit=limit, skill=skill)
    if app.json:
        emit(app, {"snapshots": list(found)}, ())
    else:
        columns = width(sys.stdout)
        lines = _graph(found, columns) if graph else (_line(info, columns) for info in found)
        write_lines(lines)


def _graph(found: Iterator[SnapshotInfo], columns: int) -> Iterator[str]:
    lines = lanes.Lanes()
    for info in found:
        row, below = lines.place(info.snapshot, info.parents)
        yield f"{row} {_line(info, columns, len(row) + 1)}"
        yield from below


def _line(info: SnapshotInfo, columns: int, indent: int = 0) -> str:
    """Return one snapshot as a line that fits `columns`; 0 stands for any length."""
    words = first_line(info.message) or operation(info.operation)
    tail = f"  {when(info.time)}  {escape(info.author)}  {words}"
    room = columns - indent - SHORT
    shown = tail if room < 0 or len(tail) <= room else tail[: room - 1] + "…"
    return paint(short(info.snapshot), "yellow") + shown
