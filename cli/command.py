"""A click command with `--json`, examples and exit statuses in its help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from .context import App
from .error_report import (
    CONFLICT,
    FAILURE,
    INTERRUPTED,
    LOCKED,
    NO_BRAIN,
    OK,
    USAGE,
    VERIFICATION_FAILED,
)
from .lazy_group import HELP_SETTINGS

EXIT_MEANINGS = {
    OK: "done",
    FAILURE: "failure",
    USAGE: "usage error",
    VERIFICATION_FAILED: "verification failed",
    NO_BRAIN: "no brain here",
    LOCKED: "locked by another writer",
    CONFLICT: "conflict: data that no snapshot has would be overwritten",
    INTERRUPTED: "interrupted",
}
"""Exit status to its meaning, the same for all commands."""


def exit_statuses(*more: int) -> tuple[int, ...]:
    """Return the statuses that every command has, and `more`, in order."""
    return tuple(sorted({OK, FAILURE, USAGE, INTERRUPTED, *more}))


BASIC_EXITS = exit_statuses()
"""Of a command that needs no brain."""
CHECK_EXITS = exit_statuses(VERIFICATION_FAILED)
"""Of a command that verifies a file without a brain."""
READ_EXITS = exit_statuses(NO_BRAIN)
VERIFY_EXITS = exit_statuses(VERIFICATION_FAILED, NO_BRAIN)
WRITE_EXITS = exit_statuses(NO_BRAIN, LOCKED)
OVERWRITE_EXITS = exit_statuses(NO_BRAIN, LOCKED, CONFLICT)
"""Of a command that may write over files of the folder."""
COMMIT_EXITS = exit_statuses(VERIFICATION_FAILED, NO_BRAIN, LOCKED, CONFLICT)
"""Of a command that commits to a ledger."""


class BrainCommand(click.Command):
    """A command whose help ends with examples and exit statuses."""

    def __init__(
        self,
        *args: Any,
        examples: tuple[str, ...],
        exits: tuple[int, ...],
        json_help: str,
        **kwargs: Any,
    ) -> None:
        kwargs["context_settings"] = HELP_SETTINGS
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.exits = exits
        self.params.append(_json_option(json_help))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples and the exit statuses."""
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")
        with formatter.section("Exit status"):
            formatter.write_dl([(str(number), EXIT_MEANINGS[number]) for number in self.exits])


def brain_command(
    name: str,
    *,
    examples: tuple[str, ...],
    exits: tuple[int, ...] = READ_EXITS,
    json_help: str = "Print one JSON document.",
) -> Callable[[Callable[..., None]], BrainCommand]:
    """Make a command of a function whose first argument is the `App`."""

    def decorate(function: Callable[..., None]) -> BrainCommand:
        make = click.command(
            name, cls=BrainCommand, examples=examples, exits=exits, json_help=json_help
        )
        return make(click.pass_obj(function))

    return decorate


def _json_option(text: str) -> click.Option:
    return click.Option(
        ["--json"],
        is_flag=True,
        expose_value=False,
        callback=_set_json,
        help=text,
    )


def _set_json(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    app = ctx.find_object(App)
    if value and app is not None:
        app.as_json = True
