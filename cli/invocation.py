"""The command `brain` itself: its global options, and how a command line is run."""

from __future__ import annotations

import os

import click

from . import terminal
from .command import LazyGroup, disable_color
from .context import App
from .error_report import Failure, describe_error, print_error
from .params import OnceOption, TextType
from .registry import ROOT_COMMANDS

PROGRAM_NAME = "brain"


def _show_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from brain._version import __version__

        from .terminal import write_stdout

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


MAX_ARGUMENTS = 10_000
"""Maximum number of arguments of one call."""

COMPLETE_VARIABLE = "_BRAIN_COMPLETE"
"""The variable that a shell sets to request completions."""


def run_cli(argv: list[str]) -> int:
    """Run `argv` and return the exit status; every failure becomes one message.

    The standard streams can be closed afterwards without another error.
    """
    argv = lead_global_options(argv)
    as_json = "--json" in argv[: argv.index("--") if "--" in argv else None]
    try:
        with terminal.terminate_on_signals():
            terminal.prepare_streams()
            status = _invoke(argv)
            terminal.flush_stdout()
    except BaseException as problem:  # noqa: BLE001  the top level prints every error
        with terminal.ignore_signals():
            failure = describe_error(problem)
            print_error(failure, as_json=as_json, problem=problem)
        status = failure.status
    terminal.release_streams()
    return status


_FLAGS = ("--json", "--no-color", "--no-pager")


def lead_global_options(argv: list[str]) -> list[str]:
    """Return `argv` with the options of `brain` itself in front, which may stand anywhere."""
    end = argv.index("--") if "--" in argv else len(argv)
    front, rest, words = [], [], iter(argv[:end])
    for word in words:
        if word in _FLAGS or word.startswith("--author=") or (word[:2] == "-C" and word != "-C"):
            front.append(word)
        elif word in ("-C", "--author"):
            front += [word, next(words, "")]
        else:
            rest.append(word)
    return [*front, *rest, *argv[end:]]


def _invoke(argv: list[str]) -> int:
    if len(argv) > MAX_ARGUMENTS:
        raise Failure(
            code="too_many_arguments",
            message=f"{len(argv)} arguments are more than {MAX_ARGUMENTS}",
            hint="name the folder that contains the files",
            status=2,
        )
    if COMPLETE_VARIABLE in os.environ:
        from click.shell_completion import shell_complete

        instruction = os.environ[COMPLETE_VARIABLE]
        return shell_complete(root_group, {}, PROGRAM_NAME, COMPLETE_VARIABLE, instruction)
    try:
        with root_group.make_context(PROGRAM_NAME, list(argv)) as context:
            root_group.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    return 0
