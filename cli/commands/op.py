"""The commands of `brain op`: the operation log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..command import brain_command, option
from ..context import App
from ..output import emit
from ..params import CountType
from ..render.human_format import align_columns, local_time

if TYPE_CHECKING:
    from brain.results import Operation


@brain_command("log", examples=("brain op log", "brain op log -n 5 --json"))
@option("-n", "--limit", type=CountType(), metavar="N", help="Show at most N operations.")
def op_log_command(app: App, limit: int | None) -> None:
    """List operations, newest first.

    Each command that moved the head or a branch is one line, including undo and redo.
    """
    found = app.brain.history.list_operations(limit)
    emit(app, {"operations": found}, _operation_lines(found))


def _operation_lines(found: list[Operation]) -> Iterator[str]:
    yield from align_columns(
        (str(item.number), local_time(item.time), item.author, item.kind, item.description)
        for item in found
    )
