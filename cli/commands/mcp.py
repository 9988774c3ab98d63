"""`brain mcp`: the group, which serves if no other command is named."""

from __future__ import annotations

import click

from ..group import HELP, LazyGroup
from ..registry import MCP

_DEFAULT = "serve"


class _Serving(LazyGroup):
    """A group whose options are those of `serve`, unless a command is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the word in that is left out."""
        asks_help = bool(args) and args[0] in HELP["help_option_names"]
        if (not args or args[0].startswith("-")) and not asks_help and not ctx.resilient_parsing:
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)


@click.command(
    "mcp",
    cls=_Serving,
    table=MCP,
    epilog="'brain mcp' alone serves. 'brain mcp COMMAND --help' tells more.",
)
def command() -> None:
    """Serve this brain to agents (MCP), or set a client up.

    MCP, the Model Context Protocol, is how Claude Code, Codex, Cursor, VS Code, Hermes
    and others call tools and read what they are given.
    """
