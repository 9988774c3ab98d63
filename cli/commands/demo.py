"""`brain demo`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from brain.errors import BrainError

from .. import streams
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..story import Told, tell
from ..terminal import escape_lines
from ..text import paint

MOST_LINES = 32
"""Lines of one output that people are shown."""


@brain_command("demo", examples=("brain demo",), exits=(0, 1, 2, 130))
def command(app: App) -> None:
    """Tell the whole story on an example.

    A smart-contract auditor's brain is copied to a temporary folder. Every step is a
    real call, shown with its true output. Status 0 means that each did what it says.
    """
    with tempfile.TemporaryDirectory(prefix="brain-demo-") as workshop:
        if app.json:
            steps = list(tell(Path(workshop)))
            emit(app, {"ok": all(step.ok for step in steps), "steps": steps}, ())
        else:
            steps = list(_shown(tell(Path(workshop))))
    wrong = [step.title for step in steps if not step.ok]
    if wrong:
        raise BrainError(f"not as told: {'; '.join(wrong)}", code="demo_failed")


def _shown(steps: Iterable[Told]) -> Iterator[Told]:
    """Print each step as soon as it is done."""
    for number, step in enumerate(steps, 1):
        streams.write_lines(_lines(number, step))
        streams.flush()
        yield step


def _lines(number: int, step: Told) -> Iterator[str]:
    yield paint(f"{number}. {step.title}", "cyan")
    yield f"   $ {step.command}"
    lines = escape_lines(step.output.rstrip("\n")).split("\n")
    for line in lines[:MOST_LINES]:
        yield f"   {line}".rstrip()
    if len(lines) > MOST_LINES:
        yield f"   … ({len(lines) - MOST_LINES} more lines)"
    if step.status:
        yield f"   exit status {step.status}" + (", as it should be" if step.ok else "")
    yield ""
