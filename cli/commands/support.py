"""Commands that help the user: doctor, completion."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

import click

from brain.errors import BrainError

from ..command import BASIC_EXITS, WRITE_EXITS, argument, brain_command, flag
from ..context import App
from ..output import emit
from ..render.human_format import colorize, pluralize
from ..shell_completion import SHELLS, completion_script
from ..terminal import escape

if TYPE_CHECKING:
    from brain.results import DoctorCheck


@brain_command(
    "doctor",
    examples=("brain doctor", "brain doctor --repair"),
    exits=WRITE_EXITS,
)
@flag(
    "--repair", help="First discard pending files that cannot be written, and clear a wrong cache."
)
def doctor_command(app: App, repair: bool) -> None:
    """Check for problems.

    Of this brain and this machine. Changes nothing without --repair. Failed checks print a hint.
    """
    repaired = app.brain.repair() if repair else []
    checks = app.brain.doctor()
    failed = sum(not check.ok for check in checks)
    document = {"ok": not failed, "checks": checks, "repaired": repaired}
    emit(app, document, chain(_repair_lines(repaired), _check_lines(checks)))
    if failed:
        raise BrainError(
            f"{pluralize(failed, 'check')} failed",
            code="checks_failed",
            hint="the lines above say what to do about each",
        )


def _repair_lines(repaired: list[DoctorCheck]) -> Iterator[str]:
    for result in repaired:
        yield f"{colorize('done', 'green')}  {escape(result.check)}: {escape(result.message)}"
        yield f"      {escape(result.hint)}"


def _check_lines(checks: list[DoctorCheck]) -> Iterator[str]:
    for check in checks:
        mark = colorize("ok  ", "green") if check.ok else colorize("FAIL", "red")
        yield f"{mark}  {escape(check.check)}: {escape(check.message)}"
        if check.hint and not check.ok:
            yield f"      {escape(check.hint)}"


@brain_command(
    "completion",
    examples=(
        'eval "$(brain completion bash)"  (in ~/.bashrc; the same for zsh)',
        "brain completion fish > ~/.config/fish/completions/brain.fish",
        "brain completion powershell | Out-String | Invoke-Expression  (in $PROFILE)",
    ),
    exits=BASIC_EXITS,
)
@argument("shell", type=click.Choice(SHELLS))
def completion_command(app: App, shell: str) -> None:
    """Complete words in a shell.

    Prints a script for it, which completes commands, options, and skills and branches of the brain.
    """
    text = completion_script(shell)
    emit(app, {"shell": shell, "script": text}, [text.rstrip("\n")])
