"""`brain bisect`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from brain.errors import printable

from ..command import command as brain_command
from ..context import App
from ..errors import FAILURE, Failure
from ..output import emit
from ..params import FilledType, Once
from ..text import paint, short

if TYPE_CHECKING:
    from brain.results import Bisected

UNTOLD = 125
"""The status by which a check says that it cannot tell, as for git."""
MOST = 127
"""The greatest status that says bad; what lies above ends the search, as for git."""


@brain_command(
    "bisect",
    examples=(
        "brain bisect --good @~20 -- grep -q TWAP skills/oracle-manipulation/SKILL.md",
        "brain bisect --good @~20 --bad @~3 -- ./check.sh",
    ),
)
@click.option("--good", cls=Once, type=FilledType(), help="A snapshot that passes.  [required]")
@click.option("--bad", cls=Once, type=FilledType(), help="A later one that fails.  [default: @]")
@click.argument("check", metavar="-- COMMAND [ARG]...", nargs=-1, required=True)
def command(app: App, good: str | None, bad: str | None, check: tuple[str, ...]) -> None:
    """Find the snapshot that made a check fail.

    COMMAND is run in a folder that holds one snapshot after the other; status 0
    says good, 125 that it cannot tell, any other up to 127 bad, above that stops.
    BRAIN_SNAPSHOT names the snapshot. The brain and its folder stay as they are.
    """
    if not good:
        raise click.UsageError("Missing option '--good': a snapshot that passes.")
    found = app.brain.bisect(good, lambda folder, id: _run(app, check, folder, id), bad or "@")
    emit(app, found, _lines(found))


def _run(app: App, check: tuple[str, ...], folder: Path, snapshot: str) -> bool | None:
    import os
    import subprocess

    try:
        status = subprocess.run(
            check,
            cwd=folder,
            env={**os.environ, "BRAIN_SNAPSHOT": snapshot},
            stdin=subprocess.DEVNULL,
            stdout=2,  # what it prints is no answer of ours
            check=False,
        ).returncode
    except OSError as error:
        reason = error.strerror or "cannot be run"
        raise Failure("bad_check", f"{printable(check[0])}: {reason}", status=FAILURE) from None
    if status < 0 or status > MOST:
        raise Failure("check_stopped", f"the check ended with status {status}", status=FAILURE)
    app.note(f"{short(snapshot)} {'good' if status == 0 else 'bad' if status != UNTOLD else '?'}")
    return None if status == UNTOLD else status == 0


def _lines(found: Bisected) -> Iterator[str]:
    if found.first_bad is not None:
        yield f"{paint(short(found.first_bad), 'red')} is the first that fails"
    else:
        yield "One of these is the first that fails; the others could not be told:"
        for here in found.suspects:
            yield f"  {short(here)}"
    yield f"{short(found.last_good)} is the last that passes"
