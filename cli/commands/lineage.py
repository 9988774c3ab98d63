"""`brain lineage`."""

from __future__ import annotations

import os
from typing import NamedTuple

import click

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import FilledType, Once
from ..terminal import escape
from ..text import count, short


class Lineage(NamedTuple):
    """A lineage that was written to a file."""

    snapshot: str
    file: str
    bytes: int


@brain_command(
    "lineage", examples=("brain lineage -o lineage.bin", "brain lineage main~3 -o l.bin")
)
@click.argument("rev", required=False, type=FilledType())
@click.option("-o", "--output", cls=Once, metavar="FILE", help="Where to write.  [required]")
def command(app: App, rev: str | None, output: str | None) -> None:
    """Write a lineage to a file, without what it holds.

    The file has every snapshot from REV, by default the head, back to the first
    one, and on through forks: enough for `brain ancestry --lineage`, and nothing of
    any skill, memory or prompt but what messages and operations say.
    """
    if not output:
        raise click.UsageError("Missing option '-o': where to write.")
    head = app.brain.show(rev or "@").info.snapshot
    unfinished = f"{output}.part"
    try:
        with open(unfinished, "wb") as file:
            file.writelines(app.brain.export_lineage(rev or "@"))
            size = file.tell()
        os.replace(unfinished, output)
    except BaseException:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
        raise
    words = f"The lineage of {short(head)} is in {escape(output)}, {count(size, 'byte')}"
    emit(app, Lineage(head, output, size), [words])
