"""The command `brain` itself and its global options."""

from __future__ import annotations

import click

from .command import disable_color
from .context import App
from .lazy_group import LazyGroup
from .params import OnceOption, TextType
from .registry import ROOT_COMMANDS

PROGRAM_NAME = "brain"


def _show_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from brain._version import __version__

        from .std_streams import write_stdout

        write_stdout(f"{PROGRAM_NAME} {__version__}\n")
        ctx.exit()


@click.pass_context
def _start(
    ctx: click.Context,
    directory: str | None,
    as_json: bool,
    author: str | None,
    no_pager: bool,
) -> None:
    ctx.obj = App(directory=directory, author=author, as_json=as_json, use_pager=not no_pager)
    ctx.call_on_close(ctx.obj.close)
    if ctx.invoked_subcommand is None:
        from .commands.start import show_overview

        show_overview(ctx.obj)


root_group = LazyGroup(
    PROGRAM_NAME,
    ROOT_COMMANDS,
    help="Version control for the brain of an AI agent: its skills, memory and prompts.",
    invoke_without_command=True,
    callback=_start,
    params=[
        OnceOption(
            ["-C", "directory"], metavar="DIR", help="Work on the brain in DIR.  [env: BRAIN_DIR]"
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON document."),
        click.Option(
            ["--no-color"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=disable_color,
            help="Print without colour.  [env: NO_COLOR]",
        ),
        click.Option(
            ["--no-pager"],
            is_flag=True,
            help="Print at a terminal without a pager.  [env: BRAIN_PAGER, PAGER]",
        ),
        OnceOption(
            ["--author"],
            type=TextType(),
            metavar="NAME",
            help="The author to record (default: login name).  [env: BRAIN_AUTHOR]",
        ),
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_version,
            help="Print the version.",
        ),
    ],
)
