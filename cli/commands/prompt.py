"""Commands that print what an agent reads: index, prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from brain.errors import printable_text

from ..command import brain_command
from ..context import App
from ..options import index_options
from ..output import emit
from ..std_streams import write_lines, write_stdout_utf8
from ..terminal import escape
from ..user_files import read_input

if TYPE_CHECKING:
    from brain.results import Index, Prompt

MAX_TASK_TEXT_BYTES = 1 << 20


@brain_command(
    "index",
    examples=(
        "brain index",
        "brain index --budget 2000",
        'brain index --task "fill a PDF form" --top 5',
    ),
)
@index_options
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
    chosen = _selection_arguments(task, top, by)
    if app.as_json or chosen:
        made = app.brain.index(limit=max_chars, budget=budget, **chosen)
        _warn_fallback(app, made)
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
@index_options
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
    made = app.brain.prompt(limit=max_chars, budget=budget, **_selection_arguments(task, top, by))
    _warn_fallback(app, made)
    for path in made.cut:
        app.print_note(f"Note: {printable_text(path)} is cut at its limit")
    if app.as_json:
        emit(app, made, ())
    else:
        write_lines([made.prompt.rstrip("\n")])


def _warn_fallback(app: App, made: Index | Prompt) -> None:
    """Say that skills were not selected as they should have been, and why."""
    if made.fallback:
        app.print_note(
            f"Warning: {escape(made.fallback)}; skills were selected by {made.selected_by}"
        )


def _selection_arguments(task: str | None, top: int | None, by: str | None) -> dict[str, Any]:
    """Return what was given as the arguments of `Brain.index` and `Brain.prompt`.

    Raises `click.UsageError` for --top or --by without a task, `InvalidInput`.
    """
    if task is None:
        if top is not None or by is not None:
            raise click.UsageError("--top and --by say how to select for a --task")
        return {}
    if task == "-":
        task = read_input("-", MAX_TASK_TEXT_BYTES, "the task").decode("utf-8", "replace")
    return {"task": task, "by": by or "", **({} if top is None else {"top": top})}
