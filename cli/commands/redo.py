"""`brain redo`."""

from __future__ import annotations

from ..command import OVERWRITES
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..words import restored


@brain_command("redo", examples=("brain redo",), exits=OVERWRITES)
def command(app: App) -> None:
    """Do again what was undone.

    It works until the next operation is recorded.
    """
    done = app.brain.redo()
    emit(app, done, [restored(done)])
