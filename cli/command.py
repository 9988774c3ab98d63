"""The commands of click: groups that import a command when it is called, options, examples."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from importlib import import_module
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, TypeVar

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
from .params import OnceOption, TextType
from .registry import (
    ALIAS_NOTES,
    ALIASES,
    DEFAULT_COMMANDS,
    GROUP_COMMANDS,
    GROUP_DESCRIPTIONS,
    CommandTable,
    suggest_commands,
)
from .terminal import NO_COLOR_VARIABLE, write_stderr

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


HELP_SETTINGS = {"help_option_names": ["-h", "--help"]}


class _WithHelp(click.Command):
    """A command whose `--help` does not look for a translation at each start, as that of click."""

    help_option: click.Option | None = None

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """Return the option `--help`."""

        def show_help(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
            if value and not ctx.resilient_parsing:
                click.echo(ctx.get_help(), color=ctx.color)
                ctx.exit()

        if self.help_option is None:
            self.help_option = click.Option(
                HELP_SETTINGS["help_option_names"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                help="Show this message and exit.",
                callback=show_help,
            )
        return self.help_option


class LazyGroup(_WithHelp, click.Group):
    """A group over a table of the registry; `default` is the command for a call without one.

    `path` are the names that lead to it, "" for the root.
    """

    def __init__(
        self, name: str, table: CommandTable, *, path: str = "", default: str = "", **kwargs: Any
    ) -> None:
        super().__init__(name, context_settings=HELP_SETTINGS, **kwargs)
        self.table = table
        self.path = path
        self.entries = {name: entry for part in table.values() for name, entry in part.items()}
        self.default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse `args`; without a command and a default, print the commands as an error."""
        if self.default and not ctx.resilient_parsing:
            asks_help = bool(args) and args[0] in HELP_SETTINGS["help_option_names"]
            if (not args or args[0].startswith("-")) and not asks_help:
                args = [self.default, *args]
        if not args and not ctx.resilient_parsing and not self.invoke_without_command:
            app = ctx.find_object(App)
            if app is None or not app.as_json:
                write_stderr(ctx.get_help() + "\n")
            raise click.UsageError("Missing command.", ctx=ctx)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of the table."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; only its module is imported."""
        if cmd_name not in self.entries:
            return None
        module, summary = self.entries[cmd_name]
        path = f"{self.path} {cmd_name}".lstrip()
        if not module:
            return _build_group(path, summary)
        commands = import_module(f".commands.{module}", __package__)
        function = f"{path.replace(' ', '_').replace('-', '_')}_command"
        command: click.Command = getattr(commands, function)()
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that `args` start with; suggest commands for an unknown one."""
        args = self._replace_alias(ctx, args)
        name = args[0]
        if name not in self.entries and not name.startswith("-") and not ctx.resilient_parsing:
            close = suggest_commands(ctx.command_path.partition(" ")[2], name[:80], self.entries)
            ask = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
            raise click.UsageError(f"No such command {name[:80]!r}.{ask}", ctx=ctx)
        return super().resolve_command(ctx, args)

    def _replace_alias(self, ctx: click.Context, args: list[str]) -> list[str]:
        name, rest = args[0], args[1:]
        if name in self.entries:
            return args
        if name == "help" and not self.path:
            if rest:
                return self._replace_alias(ctx, [*rest, "--help"])
            if not ctx.resilient_parsing:  # a shell that completes a word is offered the commands
                click.echo(ctx.get_help(), color=ctx.color)
                ctx.exit()
        other = ALIASES.get(self.path, {}).get(name)
        is_json = "--json" in rest or ctx.params.get("as_json")
        if other and name in ALIAS_NOTES and not is_json and not ctx.resilient_parsing:
            write_stderr(ALIAS_NOTES[name] + "\n")
        return [*other.split(), *rest] if other else args

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Offer the commands of the table, then the options."""
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=summary)
            for name, (_, summary) in self.entries.items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help on one screen: the commands by headings, then the options."""
        usage = " ".join(self.collect_usage_pieces(ctx))
        lines = [f"Usage: {ctx.command_path} {usage}", *(self.help or "").strip().split("\n"), ""]
        longest = max(map(len, self.list_commands(ctx)))
        for heading, part in self.table.items():
            lines.append(f"{heading}:")
            rows = [
                f"  {name:{longest}} {summary.rstrip('.')}" for name, (_, summary) in part.items()
            ]
            lines.extend(_pair(rows, formatter.width))
        options = [option.get_help_record(ctx) for option in self.params]
        if any(options):
            lines += ["", "Options, before or after a command; --help explains each command:"]
            lines += [f"  {names:13} {text}" for names, text in filter(None, options)]
        if self.epilog:
            lines += ["", self.epilog]
        formatter.write("\n".join(lines) + "\n")


def _pair(rows: list[str], width: int) -> list[str]:
    """Return many short rows as two columns, if they fit."""
    half = width // 2 + 2
    if len(rows) < 4 or max(map(len, rows)) >= half:
        return rows
    left, right = rows[: (len(rows) + 1) // 2], rows[(len(rows) + 1) // 2 :]
    return [f"{a:{half}}{b[2:]}".rstrip() for a, b in zip_longest(left, right, fillvalue="")]


def _build_group(path: str, summary: str) -> LazyGroup:
    default = DEFAULT_COMMANDS.get(path, "")
    runs_default = f"Without a command: 'brain {path} {default}'.\n" if default else ""
    return LazyGroup(
        path.rpartition(" ")[2],
        GROUP_COMMANDS[path],
        path=path,
        default=default,
        help=f"{summary}\n\n{GROUP_DESCRIPTIONS.get(path, '')}",
        epilog=f"{runs_default}Each is explained by 'brain {path} COMMAND --help'.",
    )


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
READ_EXITS = exit_statuses(NO_BRAIN)
VERIFY_EXITS = exit_statuses(VERIFICATION_FAILED, NO_BRAIN)
WRITE_EXITS = exit_statuses(NO_BRAIN, LOCKED)
OVERWRITE_EXITS = exit_statuses(NO_BRAIN, LOCKED, CONFLICT)
"""Of a command that may write over files of the folder."""
COMMIT_EXITS = exit_statuses(VERIFICATION_FAILED, NO_BRAIN, LOCKED, CONFLICT)
"""Of a command that commits to a ledger."""

TRIAL_EXITS = exit_statuses(NO_BRAIN, LOCKED, CONFLICT, NOT_ADMITTED)
"""Of a command that tries or runs programs of skills."""


class BrainCommand(_WithHelp):
    """A command whose help ends with examples and exit statuses."""

    def __init__(
        self, name: str, *, examples: tuple[str, ...], exits: tuple[int, ...], **attributes: Any
    ) -> None:
        super().__init__(name, context_settings=HELP_SETTINGS, **attributes)
        self.examples = examples
        self.exits = exits

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
        formatter.write("\nOptions of every command, such as --json and -C DIR: 'brain --help'.\n")


def brain_command(
    name: str,
    *,
    examples: tuple[str, ...],
    exits: tuple[int, ...] = READ_EXITS,
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
                params=parameters,
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


def disable_color(_ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    """Set the variable that usage errors, rich and child processes respect too."""
    if value:
        os.environ[NO_COLOR_VARIABLE] = "1"
