"""Whether a command ended with a documented exit status and without an internal error."""

import contextlib
import io
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from brain_cli.command import BrainCommand
from brain_cli.invocation import root_group as program

from tests.support.cases import read_cases

CASES = read_cases(__file__)

READ_COMMANDS: tuple[tuple[str, ...], ...] = tuple(
    tuple(command) for command in CASES["read_commands"]
)
WRITE_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("redo",),
    ("restore", "@~1"),
    ("skill", "upsert", "skill-0", "-d", "Again"),
    ("snapshot",),
    ("gc",),
    ("doctor", "--repair"),
)
ALL_COMMANDS = (*READ_COMMANDS, *WRITE_COMMANDS)
"""What is asked of each changed store, in this order."""


def find_fault_in_outcome(
    run: Callable[[list[str]], int], brain: Path, arguments: Sequence[str]
) -> str:
    """Run a command on a brain in this process; return what is wrong with how it ended."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = run(["-C", str(brain), "--author", "tester", *arguments])
    except BaseException as error:  # noqa: BLE001  the program itself ends with none
        return f"it raised {error!r}"
    said = err.getvalue()
    if "internal error" in said or "Traceback" in said:
        return said.strip()[:300]
    if status == 2 or status not in documented_exit_statuses(arguments):
        return f"exit status {status}: {said.strip()[:300]}"
    if arguments[0] == "verify" and status not in (0, 3, 10):
        return f"verification ended with status {status}: {said.strip()[:300]}"
    return ""


def documented_exit_statuses(arguments: Sequence[str]) -> tuple[int, ...]:
    """Return the documented exit statuses of a command."""
    found: click.Command = program
    for word in arguments:
        if not isinstance(found, click.Group):
            break
        context = click.Context(found)
        found = found.get_command(context, word) or found
    assert isinstance(found, BrainCommand), arguments
    return found.exits
