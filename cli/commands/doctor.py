"""`brain doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

import click

from brain.errors import BrainError

from ..command import WRITES
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..terminal import escape
from ..text import count, paint

if TYPE_CHECKING:
    from brain.results import Checkup


@brain_command(
    "doctor",
    examples=("brain doctor", "brain doctor --repair"),
    exits=WRITES,
)
@click.option(
    "--repair",
    is_flag=True,
    help="First drop files that cannot be written, and empty a cache that is wrong.",
)
def command(app: App, repair: bool) -> None:
    """Check that this brain and this machine are in order.

    Without --repair it changes nothing. A check that fails says what to do.
    """
    repaired = app.brain.repair() if repair else []
    checks = app.brain.doctor()
    failed = sum(not check.ok for check in checks)
    document = {"ok": not failed, "checks": checks, "repaired": repaired}
    emit(app, document, chain(_done(repaired), _lines(checks)))
    if failed:
        raise BrainError(f"{count(failed, 'check')} failed", code="checks_failed")


def _done(repaired: list[Checkup]) -> Iterator[str]:
    for done in repaired:
        yield f"{paint('done', 'green')}  {escape(done.check)}: {escape(done.message)}"
        yield f"      {escape(done.hint)}"


def _lines(checks: list[Checkup]) -> Iterator[str]:
    for check in checks:
        mark = paint("ok  ", "green") if check.ok else paint("FAIL", "red")
        yield f"{mark}  {escape(check.check)}: {escape(check.message)}"
        if check.hint and not check.ok:
            yield f"      {escape(check.hint)}"
