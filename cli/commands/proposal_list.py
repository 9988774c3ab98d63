"""`brain proposal list`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..terminal import escape
from ..text import columns, count, short, when
from ..words import skill_change

if TYPE_CHECKING:
    from brain.results import Proposal


@brain_command("list", examples=("brain proposal list",))
def command(app: App) -> None:
    """List what agents propose.

    An agent that is served with `brain mcp --approve` changes neither the folder nor
    the head: what it writes waits here until somebody accepts it.
    """
    found = app.brain.proposals()
    emit(app, {"proposals": found}, _lines(found))


def _lines(found: list[Proposal]) -> Iterator[str]:
    if not found:
        yield "Nothing is proposed."
    yield from columns(
        (
            short(one.snapshot),
            when(one.made[0].time),
            escape(one.name),
            ", ".join(map(skill_change, one.skills)) or count(len(one.changes), "file"),
        )
        for one in found
    )
