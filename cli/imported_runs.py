"""Record for patterns which skills the runs of other programs used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from brain.errors import BrainError, NoBrain

from .context import App

if TYPE_CHECKING:
    from brain.receipts import Receipt


def record_for_patterns(app: App, receipts: Iterable[Receipt]) -> None:
    """Record the runs in the brain of the current folder, if there is one; each counts once.

    What goes wrong is a note: the command itself did its work.
    """
    try:
        for receipt in receipts:
            app.brain.patterns.record_run(receipt)
    except NoBrain:
        return
    except BrainError as error:
        app.print_note(f"Note: the runs are not counted for patterns: {error.message}")
