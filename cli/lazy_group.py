"""A click group that imports a command only when it is called."""

from __future__ import annotations

from importlib import import_module
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import click

from .context import App
from .registry import (
    ALIAS_NOTES,
    ALIASES,
    DEFAULT_COMMANDS,
    GROUP_COMMANDS,
    GROUP_DESCRIPTIONS,
    CommandTable,
)
from .std_streams import write_stderr

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

HELP_SETTINGS = {"help_option_names": ["-h", "--help"]}


def make_help_option() -> click.Option:
    """Return the option `--help`: that of click looks for a translation at each start."""

    def show_help(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()

    return click.Option(
        HELP_SETTINGS["help_option_names"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        help="Show this message and exit.",
        callback=show_help,
    )


_GLOBAL_OPTIONS = {"-C": 2, "--author": 2, "--json": 1, "--no-color": 1, "--no-pager": 1}
"""Options of `brain` itself, with the number of words that each takes."""


class LazyGroup(click.Group):
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
        self.help_option = make_help_option()

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """Return the option `--help`."""
        return self.help_option

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse `args`; without a command and a default, print the commands as an error."""
        if self.path:
            args = self._move_global_options(args)
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

    def _move_global_options(self, args: list[str]) -> list[str]:
        """Return `args` with the options of `brain` itself behind the command, if they lead."""
        at = 0
        while at < len(args) and args[at] in _GLOBAL_OPTIONS:
            at += _GLOBAL_OPTIONS[args[at]]
        is_command = at < len(args) and (
            args[at] in self.entries or args[at] in ALIASES.get(self.path, ())
        )
        return [args[at], *args[:at], *args[at + 1 :]] if at and is_command else args

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
            group = ctx.command_path.partition(" ")[2]
            raise click.UsageError(self._unknown_command_message(name, group), ctx=ctx)
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

    def _unknown_command_message(self, name: str, group: str) -> str:
        from .synonyms import suggest_commands

        close = suggest_commands(group, name[:80], self.entries)
        ask = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
        return f"No such command {name[:80]!r}.{ask}"

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
