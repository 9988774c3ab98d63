"""`brain status`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..progress import Bar
from ..terminal import escape
from ..text import count, paint, short
from ..words import conflict, notices

if TYPE_CHECKING:
    from brain.results import Status


@brain_command("status", examples=("brain status", "brain -C my-agent status --json"))
def command(app: App) -> None:
    """Show what changed since the last snapshot.

    A is added, M modified, D removed.
    """
    with Bar(app) as bar:
        found = app.brain.status(progress=bar)
    for line in notices(found.notices):
        app.note(line)
    emit(app, found, _lines(found, str(app.brain.root)))


def _lines(found: Status, root: str) -> Iterator[str]:
    yield f"On {escape(found.branch)} at {short(found.head)} in {escape(root)}"
    if found.merging is not None:
        left = sum(row.choice is None for row in found.conflicts)
        yield f"Merging {escape(found.merging)}: {count(left, 'conflict')} to decide"
        yield from map(conflict, found.conflicts)
    if found.clean:
        yield "Nothing changed since the last snapshot."
    for letter, colour, paths in (
        ("A", "green", found.added),
        ("M", "yellow", found.modified),
        ("D", "red", found.removed),
    ):
        for path in paths:
            yield f"{paint(letter, colour)} {escape(path)}"
