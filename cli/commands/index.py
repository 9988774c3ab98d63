"""`brain index`."""

from __future__ import annotations

import click

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import CountType, Once
from ..streams import write_pages
from ..tasks import selection, task_options, warn


@brain_command(
    "index",
    examples=(
        "brain index",
        "brain index --budget 2000",
        'brain index --task "fill a PDF form" --top 5',
    ),
)
@click.option(
    "--limit", cls=Once, type=CountType(), metavar="CHARS", help="Cut a description at CHARS."
)
@click.option(
    "--budget", cls=Once, type=CountType(), metavar="TOKENS", help="At most TOKENS in all."
)
@task_options
def command(
    app: App,
    limit: int | None,
    budget: int | None,
    task: str | None,
    top: int | None,
    by: str | None,
) -> None:
    """Print the Level-0 index: one line per skill.

    It is read from the head; bodies never enter it. Tokens are estimated as bytes / 4.
    Where --budget is short, descriptions are cut, then names stand alone by category, then
    skills are left out, and the last line says how many. Each author has a share of it.
    With --task it has the skills whose names and descriptions fit a task best; if the
    embedder fails, by their words, unless --by embedding was given.
    """
    chosen = selection(task, top, by)
    if app.json or chosen:
        made = app.brain.index(limit=limit, budget=budget, **chosen)
        warn(app, made)
        emit(app, made, [made.index])
    else:
        write_pages(app.brain.index_pages(limit=limit, budget=budget))
