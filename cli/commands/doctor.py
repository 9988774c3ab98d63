"""`brain doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from brain.errors import BrainError

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..terminal import escape
from ..text import count, paint

if TYPE_CHECKING:
    from brain.results import Checkup


@brain_command("doctor", examples=("brain doctor",))
def command(app: App) -> None:
    """Check that this brain and this machine are in order.

    It changes nothing. A check that fails says what to do.
    """
    checks = app.brain.doctor()
    failed = sum(not check.ok for check in checks)
    emit(app, {"ok": not failed, "checks": checks}, _lines(checks))
    if failed:
        raise BrainError(f"{count(failed, 'check')} failed", code="checks_failed")


def _lines(checks: list[Checkup]) -> Iterator[str]:
    for check in checks:
        mark = paint("ok  ", "green") if check.ok else paint("FAIL", "red")
        yield f"{mark}  {escape(check.check)}: {escape(check.message)}"
        if check.hint and not check.ok:
            yield f"      {escape(check.hint)}"
