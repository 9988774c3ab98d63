"""Commands that print what an agent reads: index, prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from brain.errors import printable_text

from ..command import brain_command
from ..context import App
from ..json_format import to_json
from ..options import index_options, no_record_option
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
@no_record_option
def index_command(
    app: App,
    max_chars: int | None,
    budget: int | None,
    task: str | None,
    top: int | None,
    by: str | None,
) -> None:
    """Print one line per skill.

    This is the Level-0 index. Bodies are never included, nor skills that only their user may
    start: those with disable-model-invocation: true. A token is estimated as 4 bytes. If
    --budget is too small, descriptions are cut, then only names are listed by category, then
    skills are left out and the last line has their number. Each author gets a share of the
    budget. --task selects the skills whose names and descriptions fit best; if the embedder
    fails, words are compared, except with --by embedding. --json names the skills that are only
    provisional, if there are any.
    """
    chosen = _selection_arguments(task, top, by)
    app.show_folder()
    made = app.brain.prompt.build_index(max_chars=max_chars, budget=budget, **chosen)
    _warn_fallback(app, made)
    if not app.as_json:
        write_stdout_utf8([made.index.encode(), b"\n"])
        return
    document = to_json(made)
    if not made.provisional:
        del document["provisional"]
    emit(app, document, [])


@brain_command(
    "prompt",
    examples=(
        "brain prompt",
        "brain prompt --budget 2000 > system.txt",
        "cat task.md | brain prompt --task -",
    ),
)
@index_options
@no_record_option
def prompt_command(
    app: App,
    max_chars: int | None,
    budget: int | None,
    task: str | None,
    top: int | None,
    by: str | None,
) -> None:
    """Print the system prompt.

    It consists of prompts/system.md, prompts/fragments/ in name order, the Level-0
    index, and the memory files that manifest.yaml names, each cut at its limit (default:
    MEMORY.md and USER.md). --task selects skills as in `brain index`; if the embedder
    fails, the prompt is still printed.
    """
    chosen = _selection_arguments(task, top, by)
    app.show_folder()
    made = app.brain.prompt.build(max_chars=max_chars, budget=budget, **chosen)
    _warn_fallback(app, made)
    for path in made.cut:
        app.print_note(f"Note: {printable_text(path)} is cut at its limit")
    if app.as_json:
        emit(app, made, ())
    else:
        write_lines([made.prompt.rstrip("\n")])


def _warn_fallback(app: App, made: Index | Prompt) -> None:
    """Print why another selection method was used."""
    if made.fallback:
        app.print_note(
            f"Warning: {escape(made.fallback)}; skills were selected by {made.selected_by}"
        )


def _selection_arguments(task: str | None, top: int | None, by: str | None) -> dict[str, Any]:
    """Return the selection options as arguments of `Brain.index` and `Brain.prompt`.

    Raises `click.UsageError` for --top or --by without a task, `InvalidInput`.
    """
    if task is None:
        if top is not None or by is not None:
            raise click.UsageError("--top and --by require --task")
        return {}
    if task == "-":
        task = read_input("-", MAX_TASK_TEXT_BYTES, "the task").decode("utf-8", "replace")
    return {"task": task, "by": by or "", **({} if top is None else {"top": top})}
