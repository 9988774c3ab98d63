"""Commands that print what an agent reads: index, prompt."""

from __future__ import annotations

import click

from brain.errors import printable_text

from ..command import brain_command
from ..context import App
from ..output import emit
from ..params import CountType, OnceOption
from ..std_streams import write_lines, write_stdout_utf8
from ..task_selection import selection_arguments, task_options, warn_fallback


@brain_command(
    "index",
    examples=(
        "brain index",
        "brain index --budget 2000",
        'brain index --task "fill a PDF form" --top 5',
    ),
)
@click.option(
    "--max-chars",
    cls=OnceOption,
    type=CountType(),
    metavar="CHARS",
    help="Cut a description at CHARS.",
)
@click.option(
    "--budget", cls=OnceOption, type=CountType(), metavar="TOKENS", help="At most TOKENS in all."
)
@task_options
def index_command(
    app: App,
    max_chars: int | None,
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
    chosen = selection_arguments(task, top, by)
    if app.as_json or chosen:
        made = app.brain.index(limit=max_chars, budget=budget, **chosen)
        warn_fallback(app, made)
        emit(app, made, [made.index])
    else:
        write_stdout_utf8(app.brain.index_pages(limit=max_chars, budget=budget))


@brain_command(
    "prompt",
    examples=(
        "brain prompt",
        "brain prompt --budget 2000 > system.txt",
        "cat task.md | brain prompt --task -",
    ),
)
@click.option(
    "--max-chars",
    cls=OnceOption,
    type=CountType(),
    metavar="CHARS",
    help="Cut a description at CHARS.",
)
@click.option(
    "--budget", cls=OnceOption, type=CountType(), metavar="TOKENS", help="At most TOKENS of index."
)
@task_options
def prompt_command(
    app: App,
    max_chars: int | None,
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
    made = app.brain.prompt(limit=max_chars, budget=budget, **selection_arguments(task, top, by))
    warn_fallback(app, made)
    for path in made.cut:
        app.print_note(f"Note: {printable_text(path)} is cut at its limit")
    if app.as_json:
        emit(app, made, ())
    else:
        write_lines([made.prompt.rstrip("\n")])
