"""`brain snapshot`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..command import WRITES
from ..command import command as brain_command
from ..context import App
from ..ledgers import outcome, refuse
from ..output import emit
from ..params import Once, TextType
from ..progress import Bar
from ..text import short
from ..words import notices

if TYPE_CHECKING:
    from brain.results import Recorded


@brain_command(
    "snapshot",
    examples=(
        "brain snapshot",
        'brain snapshot -m "Lessons of the week"',
        "brain snapshot memory/memories.jsonl",
    ),
    exits=WRITES,
)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=TextType("bad_path"))
@click.option(
    "-m", "--message", cls=Once, type=TextType(), metavar="TEXT", help="Say what was done and why."
)
def command(app: App, paths: tuple[str, ...], message: str | None) -> None:
    """Record the folder as it is.

    PATH is a file or folder, from the top of the brain; only these are then looked
    at and recorded, and the rest stays as it was. Nothing is recorded where nothing
    changed since the last snapshot. What looks like a secret is named; where
    more than 4 MiB changed, it is said how many files are left to `brain secrets`.
    """
    with Bar(app) as bar:
        done = app.brain.snapshot(message or "", paths, progress=bar)
    for line in notices(done.notices):
        app.note(line)
    emit(app, done, _lines(done))
    refuse(done.commitment)


def _lines(done: Recorded) -> Iterator[str]:
    if not done.changed:
        yield f"Nothing changed since snapshot {short(done.snapshot)}."
        return
    counts = f"{done.added} added, {done.modified} modified, {done.removed} removed"
    yield f"Snapshot {short(done.snapshot)}: {counts}"
    yield f"Bundle   {short(done.bundle)}"
    yield from outcome(done.commitment)
