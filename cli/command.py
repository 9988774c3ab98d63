"""A click command with `--json`, examples and exit statuses in its help."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from itertools import chain
from typing import Any, TypeVar

import click

from .context import App
from .error_report import (
    CONFLICT,
    FAILURE,
    INTERRUPTED,
    LOCKED,
    NO_BRAIN,
    NOT_ADMITTED,
    NOT_VOUCHED,
    OK,
    USAGE,
    VERIFICATION_FAILED,
)
from .lazy_group import HELP_SETTINGS, make_help_option
from .params import OnceOption, TextType
from .terminal import NO_COLOR_VARIABLE

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

TEXT = TextType()
PATHS_AFTER_DASHES = "brain_cli.paths_after_dashes"
"""Key of the context: how many arguments stand behind `--`."""
_COUNT_OPTION = re.compile(r"-[0-9]{1,9}", re.ASCII)

EXIT_MEANINGS = {
    OK: "done",
    FAILURE: "failure",
    USAGE: "usage error",
    VERIFICATION_FAILED: "verification failed",
    NOT_VOUCHED: "consistent, but nothing that you know vouches for it",
    NO_BRAIN: "no brain here",
    LOCKED: "locked by another writer",
    CONFLICT: "conflict: something changed meanwhile, or data would be overwritten",
    NOT_ADMITTED: "not admitted: rejected, undecided, or not tried yet",
    INTERRUPTED: "interrupted",
}
"""Exit status to its meaning, the same for all commands."""


def exit_statuses(*more: int) -> tuple[int, ...]:
    """Return the statuses that every command has, and `more`, in order."""
    return tuple(sorted({OK, FAILURE, USAGE, INTERRUPTED, *more}))


BASIC_EXITS = exit_statuses()
"""Of a command that needs no brain."""
CHECK_EXITS = exit_statuses(VERIFICATION_FAILED, NOT_VOUCHED)
"""Of a command that verifies a file without a brain."""
READ_EXITS = exit_statuses(NO_BRAIN)
VERIFY_EXITS = exit_statuses(VERIFICATION_FAILED, NO_BRAIN)
WRITE_EXITS = exit_statuses(NO_BRAIN, LOCKED)
OVERWRITE_EXITS = exit_statuses(NO_BRAIN, LOCKED, CONFLICT)
"""Of a command that may write over files of the folder."""
COMMIT_EXITS = exit_statuses(VERIFICATION_FAILED, NO_BRAIN, LOCKED, CONFLICT)
"""Of a command that commits to a ledger."""

TRIAL_EXITS = exit_statuses(NO_BRAIN, LOCKED, CONFLICT, NOT_ADMITTED)
"""Of a command that tries programs of skills."""
RUN_EXITS = exit_statuses(NO_BRAIN, LOCKED, NOT_ADMITTED)
"""Of a command that runs one."""


class BrainCommand(click.Command):
    """A command whose help ends with examples and exit statuses."""

    def __init__(
        self, name: str, *, examples: tuple[str, ...], exits: tuple[int, ...], **attributes: Any
    ) -> None:
        super().__init__(name, context_settings=HELP_SETTINGS, **attributes)
        self.examples = examples
        self.exits = exits
        self.help_option = make_help_option()

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """Return the option `--help`."""
        return self.help_option

    def make_parser(self, ctx: click.Context) -> click.parser._OptionParser:
        """Return a parser that finds `-d` at once, without a search for what was meant."""
        parser = super().make_parser(ctx)
        parser._long_opt.update(parser._short_opt)
        return parser

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse `args`; note how many stand behind `--`, and take -3 for -n 3 as git does."""
        end = args.index("--") if "--" in args else len(args)
        if end < len(args):
            ctx.meta[PATHS_AFTER_DASHES] = len(args) - end - 1
        if any("-n" in parameter.opts for parameter in self.params):
            options = (
                ("-n", arg[1:]) if _COUNT_OPTION.fullmatch(arg) else (arg,) for arg in args[:end]
            )
            args = [*chain.from_iterable(options), *args[end:]]
        return super().parse_args(ctx, args)

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
) -> Callable[[Callable[..., None]], Callable[[], BrainCommand]]:
    """Turn a function whose first argument is the `App` into a builder of its command.

    A module holds many commands and one of them is called, so their parameters are made late.
    """

    def decorate(function: Callable[..., None]) -> Callable[[], BrainCommand]:
        def build() -> BrainCommand:
            parameters = [make() for make in reversed(_parameters(function))]
            return BrainCommand(
                name,
                examples=examples,
                exits=exits,
                callback=click.pass_obj(function),
                params=[*parameters, _json_option(json_help), *_global_options()],
                help=function.__doc__,
            )

        return build

    return decorate


def argument(
    name: str, *, type: click.ParamType[Any] | None = TEXT, **attributes: Any
) -> Callable[[Decorated], Decorated]:
    """Add an argument to a command; type None accepts any bytes, such as those of a path."""
    return _add(lambda: click.Argument([name], type=type, **attributes))


def option(
    *names: str, type: click.ParamType[Any] | None = TEXT, **attributes: Any
) -> Callable[[Decorated], Decorated]:
    """Add an option with a value to a command; None is as for `argument`."""
    return _add(lambda: OnceOption(names, type=type, **attributes))


def repeated_option(
    *names: str, type: click.ParamType[Any] = TEXT, **attributes: Any
) -> Callable[[Decorated], Decorated]:
    """Add an option that may be given several times to a command."""
    return _add(lambda: click.Option(names, type=type, multiple=True, **attributes))


def flag(*names: str, **attributes: Any) -> Callable[[Decorated], Decorated]:
    """Add an option without a value; several with one name and a `flag_value` are a choice."""
    if "flag_value" not in attributes:
        attributes["is_flag"] = True
    return _add(lambda: click.Option(names, **attributes))


def _add(make: Callable[[], click.Parameter]) -> Callable[[Decorated], Decorated]:
    def decorate(function: Decorated) -> Decorated:
        _parameters(function).append(make)
        return function

    return decorate


def _parameters(function: Callable[..., Any]) -> list[Callable[[], click.Parameter]]:
    """Return the parameters of a command function, from the last to the first."""
    found: list[Callable[[], click.Parameter]] = function.__dict__.setdefault("parameters", [])
    return found


def _json_option(text: str) -> click.Option:
    return click.Option(["--json"], is_flag=True, expose_value=False, callback=_set_json, help=text)


def _global_options() -> list[click.Option]:
    """Return the options of `brain` itself, which may stand behind the command, too."""
    hidden: dict[str, Any] = {"expose_value": False, "hidden": True}
    return [
        OnceOption(["-C"], callback=_set_directory, **hidden),
        OnceOption(["--author"], type=TEXT, callback=_set_author, **hidden),
        click.Option(["--no-color"], is_flag=True, is_eager=True, callback=disable_color, **hidden),
        click.Option(["--no-pager"], is_flag=True, callback=_set_no_pager, **hidden),
    ]


def _set_directory(ctx: click.Context, _param: click.Parameter, values: Any) -> Any:
    app = ctx.find_object(App)
    if values and app is not None:
        app.directory = values[-1]
    return values


def _set_author(ctx: click.Context, _param: click.Parameter, values: Any) -> Any:
    app = ctx.find_object(App)
    if values and app is not None:
        app.author, app.author_is_login = values[-1], False
    return values


def disable_color(_ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    """Set the variable that usage errors, rich and child processes respect too."""
    if value:
        os.environ[NO_COLOR_VARIABLE] = "1"


def _set_no_pager(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    app = ctx.find_object(App)
    if value and app is not None:
        app.use_pager = False


def _set_json(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    app = ctx.find_object(App)
    if value and app is not None:
        app.as_json = True
