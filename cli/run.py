"""One run of the command line, from arguments to an exit status."""

from __future__ import annotations

import os
from typing import NoReturn

import click

from . import signals, streams
from .errors import Failure, describe, report
from .root import PROGRAM, root

MAX_ARGUMENTS = 10_000
"""Arguments of one call; more would name files one by one where a folder is meant."""

_COMPLETE = "_BRAIN_COMPLETE"


def run(argv: list[str]) -> int:
    """Run `argv` and return the exit status; every failure becomes one clear message.

    The process is left with standard streams that can be closed without a further
    error, whatever happened to them.
    """
    as_json = wants_json(argv)
    try:
        with signals.handled():
            streams.prepare()
            status = _invoke(argv)
            streams.flush()
    except BaseException as problem:  # noqa: BLE001  the top: nothing may pass as a traceback
        with signals.ignored():
            failure = describe(problem)
            report(failure, as_json=as_json, problem=problem)
        status = failure.status
    streams.release()
    return status


def wants_json(argv: list[str]) -> bool:
    """Return whether `--json` stands among the options, even if the rest cannot be parsed."""
    options = argv[: argv.index("--")] if "--" in argv else argv
    return "--json" in options


def _invoke(argv: list[str]) -> int:
    if len(argv) > MAX_ARGUMENTS:
        _refuse(len(argv))
    if _COMPLETE in os.environ:
        return _complete(os.environ[_COMPLETE])
    try:
        with root.make_context(PROGRAM, list(argv)) as context:
            root.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    return 0


def _refuse(count: int) -> NoReturn:
    raise Failure(
        code="too_many_arguments",
        message=f"{count} arguments are more than {MAX_ARGUMENTS}",
        hint="name the folder that holds them",
        status=2,
    )


def _complete(instruction: str) -> int:
    from click.shell_completion import shell_complete

    from . import completion

    completion.register()
    return shell_complete(root, {}, PROGRAM, _COMPLETE, instruction)
