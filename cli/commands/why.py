"""`brain why`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import SlugType
from ..receipts import source, times
from ..terminal import escape
from ..text import count, first_line, short, when

if TYPE_CHECKING:
    from brain.results import Reason, Why, Work

_STATES = {
    "none": "no receipt: what led to it was not recorded",
    "missing": "its receipt is missing from the store",
    "redacted": "its receipt was redacted",
    "foreign": "a record of another format was kept with it",
}


@brain_command("why", examples=("brain why oracle-manipulation", "brain why oracle-manipulation@3"))
@click.argument("slug", metavar="SLUG[@VERSION]", type=SlugType())
def command(app: App, slug: str) -> None:
    """Tell which work made each version of a skill.

    Of each version, newest first: the task, who worked on it with which model, the
    steps until then, the tools used and skills loaded, and how the run ended.
    """
    found = app.brain.why(slug)
    emit(app, found, _lines(found))


def _lines(found: Why) -> Iterator[str]:
    for one in found.versions:
        yield (
            f"{found.slug}@{one.version}  {one.change} {when(one.time)}"
            f" by {first_line(one.author) or 'nobody named'}, snapshot {short(one.snapshot)}"
        )
        yield from (f"    {escape(line)}" for line in _reason(one))  # a receipt may be foreign


def _reason(one: Reason) -> Iterator[str]:
    if one.message:
        yield first_line(one.message)
    if one.work is None:
        yield _STATES[one.state]
        return
    yield from _work(one.work)


def _work(work: Work) -> Iterator[str]:
    yield f"task: {first_line(work.task) or 'not named'}"
    who = ", ".join(filter(None, (first_line(work.agent), first_line(work.model))))
    if who:
        yield f"by {who}"
    failed = f", {count(work.errors, 'error')}" if work.errors else ""
    yield f"steps: {times(work.steps)}{failed}" if work.steps else "no steps"
    if work.tools:
        yield f"tools: {times(work.tools)}"
    if work.skills_loaded:
        yield f"loaded: {', '.join(work.skills_loaded)}"
    if work.source is not None:
        yield f"read from {source(work.source)}"
    reason = f": {first_line(work.reason)}" if work.reason else ""
    end = f", in {short(work.end)}" if work.end else ""
    yield f"outcome: {work.outcome or 'still open'}{end}{reason}"
