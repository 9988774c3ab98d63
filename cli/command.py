"""A click command with `--json`, examples and exit statuses in its help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from .context import App
from .lazy_group import HELP_SETTINGS

EXIT_MEANINGS = {
    0: "done",
    1: "failure",
    2: "usage error",
    3: "verification failed",
    10: "no brain here",
    11: "locked by another writer",
    12: "conflict: it would overwrite what is recorded nowhere",
    130: "interrupted",
}
"""Exit status to its meaning, the same for all commands."""

READ_EXITS = (0, 1, 2, 10, 130)
WRITE_EXITS = (0, 1, 2, 10, 11, 130)
OVERWRITE_EXITS = (0, 1, 2, 10, 11, 12, 130)


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
