"""Run a command line and return its exit status."""

from __future__ import annotations

import os
from typing import NoReturn

import click

from . import signals, std_streams
from .error_report import Failure, describe_error, print_error
from .root_command import PROGRAM_NAME, root_group

MAX_ARGUMENTS = 10_000
"""Maximum number of arguments of one call."""

_COMPLETE_VARIABLE = "_BRAIN_COMPLETE"


def run_cli(argv: list[str]) -> int:
    """Run `argv` and return the exit status; every failure becomes one message.

    The standard streams can be closed afterwards without another error.
    """
    as_json = wants_json(argv)
    try:
        with signals.terminate_on_signals():
            std_streams.prepare_streams()
            status = _invoke(argv)
            std_streams.flush_stdout()
    except BaseException as problem:  # noqa: BLE001  the top level prints every error
        with signals.ignore_signals():
            failure = describe_error(problem)
            print_error(failure, as_json=as_json, problem=problem)
        status = failure.status
    std_streams.release_streams()
    return status


def wants_json(argv: list[str]) -> bool:
    """Return whether `--json` is among the options, even if the rest cannot be parsed."""
    options = argv[: argv.index("--")] if "--" in argv else argv
    return "--json" in options


def _invoke(argv: list[str]) -> int:
    if len(argv) > MAX_ARGUMENTS:
        _refuse_many_arguments(len(argv))
    if _COMPLETE_VARIABLE in os.environ:
        return _print_completions(os.environ[_COMPLETE_VARIABLE])
    try:
        with root_group.make_context(PROGRAM_NAME, list(argv)) as context:
            root_group.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    return 0


def _refuse_many_arguments(count: int) -> NoReturn:
    raise Failure(
        code="too_many_arguments",
        message=f"{count} arguments are more than {MAX_ARGUMENTS}",
        hint="name the folder that contains the files",
        status=2,
    )


def _print_completions(instruction: str) -> int:
    from click.shell_completion import shell_complete

    from . import shell_completion

    shell_completion.register_powershell()
    return shell_complete(root_group, {}, PROGRAM_NAME, _COMPLETE_VARIABLE, instruction)
