"""The options that select skills for a task."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .context import App
from .params import CountType, OnceOption, TextType
from .terminal import escape
from .user_files import read_input

if TYPE_CHECKING:
    from brain.results import Index, Prompt

MAX_TASK_TEXT_BYTES = 1 << 20
SELECTION_METHODS = ("keyword", "bm25", "embedding", "hybrid")

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def task_options(function: Decorated) -> Decorated:
    """Add --task, --top and --by to a command."""
    by = click.option(
        "--by",
        cls=OnceOption,
        type=click.Choice(SELECTION_METHODS),
        help="How to select for a task.",
    )
    top = click.option(
        "--top",
        cls=OnceOption,
        type=CountType(),
        metavar="COUNT",
        help="How many skills to select; 0 takes all.  [default: 10]",
    )
    task = click.option(
        "--task",
        cls=OnceOption,
        type=TextType(),
        metavar="TEXT",
        help="Only skills that this task needs; - is standard input.",
    )
    return task(top(by(function)))


def warn_fallback(app: App, made: Index | Prompt) -> None:
    """Say that skills were not selected as they should have been, and why."""
    if made.fallback:
        app.print_note(
            f"Warning: {escape(made.fallback)}; skills were selected by {made.selected_by}"
        )


def selection_arguments(task: str | None, top: int | None, by: str | None) -> dict[str, Any]:
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
