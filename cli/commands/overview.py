"""`brain` alone: the status of this brain, and what one can do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brain import NoBrain

from ..context import App
from ..render.human_format import align_columns
from .record import show_status

if TYPE_CHECKING:
    from brain.results import Status

_HINTS_WITHOUT_BRAIN = (
    ("brain init", "turn this folder into a brain"),
    ("brain adopt DIR", "import the skills and memory of another program"),
    ("brain --help", "list all commands"),
)
_HINTS_DURING_MERGE = (
    ("brain resolve", "list the conflicts, or resolve them"),
    ("brain merge --continue", "record the merge once all are resolved"),
    ("brain merge --abort", "give it up"),
)
_HINTS_FOR_CHANGES = (
    ("brain diff", "show these changes"),
    ("brain snapshot", "record them"),
    ("brain --help", "list all commands"),
)
_HINTS_FOR_CLEAN = (
    ("brain skill list", "list the skills"),
    ("brain log", "list the snapshots"),
    ("brain --help", "list all commands"),
)


def show_overview(app: App) -> None:
    """Print the status and three hints; outside of a brain, how to begin.

    Raises `NoBrain` with --json, or if a folder was named that has no brain.
    """
    try:
        app.brain_folder()
    except NoBrain:
        if app.as_json or app.directory:
            raise
        app.print_note("There is no brain here.")
        _print_hints(app, _HINTS_WITHOUT_BRAIN)
        return
    _print_hints(app, _choose_hints(show_status(app)))


def _choose_hints(status: Status) -> tuple[tuple[str, str], ...]:
    if status.merging is not None:
        return _HINTS_DURING_MERGE
    return _HINTS_FOR_CLEAN if status.clean else _HINTS_FOR_CHANGES


def _print_hints(app: App, hints: tuple[tuple[str, str], ...]) -> None:
    for line in align_columns(hints):
        app.print_note(f"  {line}")
