"""`brain undo`."""

from __future__ import annotations

from ..command import OVERWRITES
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..words import restored


@brain_command("undo", examples=("brain undo",), exits=OVERWRITES)
def command(app: App) -> None:
    """Take back the last operation.

    The folder and the head return to what they were before. 'brain redo' reverses it.
    """
    done = app.brain.undo()
    emit(app, done, [restored(done)])
