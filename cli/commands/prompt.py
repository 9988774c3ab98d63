"""`brain prompt`."""

from __future__ import annotations

import click

from brain.errors import printable

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import CountType, Once
from ..streams import write_lines
from ..tasks import selection, task_options, warn


@brain_command(
    "prompt",
    examples=(
        "brain prompt",
        "brain prompt --budget 2000 > system.txt",
        "cat task.md | brain prompt --task -",
    ),
)
@click.option(
    "--limit", cls=Once, type=CountType(), metavar="CHARS", help="Cut a description at CHARS."
)
@click.option(
    "--budget", cls=Once, type=CountType(), metavar="TOKENS", help="At most TOKENS of index."
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
    """Print the system prompt.

    prompts/system.md, prompts/fragments/ in name order, the Level-0 index, and the
    memory files that manifest.yaml names, each within its limit; MEMORY.md and
    USER.md where it names none. With --task the index is as `brain index` has it: an
    embedder that fails stops no prompt.
    """
    made = app.brain.prompt(limit=limit, budget=budget, **selection(task, top, by))
    warn(app, made)
    for path in made.cut:
        app.note(f"Note: {printable(path)} is cut at its limit")
    if app.json:
        emit(app, made, ())
    else:
        write_lines([made.prompt.rstrip("\n")])
