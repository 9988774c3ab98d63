"""The command demo: run an example and show every step."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from brain.errors import BrainError

from .. import std_streams
from ..command import BASIC_EXITS, brain_command
from ..context import App
from ..demo_steps import DemoStep, run_demo
from ..output import emit
from ..render.human_format import colorize
from ..terminal import escape_lines

MAX_SHOWN_LINES = 32
"""Lines of the output of a step that are printed."""


@brain_command("demo", examples=("brain demo",), exits=BASIC_EXITS)
def demo_command(app: App) -> None:
    """Run every main feature.

    Copies the brain of a smart-contract auditor to a temporary folder and runs real
    commands there. Status 0 means that every step did what its title says.
    """
    with tempfile.TemporaryDirectory(prefix="brain-demo-") as workshop:
        if app.as_json:
            steps = list(run_demo(Path(workshop)))
            emit(app, {"ok": all(step.ok for step in steps), "steps": steps}, ())
        else:
            steps = list(_print_steps(run_demo(Path(workshop))))
    wrong = [step.title for step in steps if not step.ok]
    if wrong:
        raise BrainError(
            f"steps failed: {'; '.join(wrong)}",
            code="demo_failed",
            hint="the lines above show what each printed; BRAIN_DEBUG=1 adds tracebacks",
        )


def _print_steps(steps: Iterable[DemoStep]) -> Iterator[DemoStep]:
    """Print each step as soon as it is done."""
    for number, step in enumerate(steps, 1):
        std_streams.write_lines(_demo_step_lines(number, step))
        std_streams.flush_stdout()
        yield step


def _demo_step_lines(number: int, step: DemoStep) -> Iterator[str]:
    yield colorize(f"{number}. {step.title}", "cyan")
    yield f"   $ {step.command}"
    lines = escape_lines(step.output.rstrip("\n")).split("\n")
    for line in lines[:MAX_SHOWN_LINES]:
        yield f"   {line}".rstrip()
    if len(lines) > MAX_SHOWN_LINES:
        yield f"   … ({len(lines) - MAX_SHOWN_LINES} more lines)"
    if step.status:
        yield f"   exit status {step.status}" + (", as expected" if step.ok else "")
    yield ""
