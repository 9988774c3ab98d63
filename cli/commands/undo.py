"""Commands that restore an earlier state: restore, undo, redo."""

from __future__ import annotations

from ..command import OVERWRITE_EXITS, argument, brain_command
from ..context import App
from ..output import emit
from ..params import NonEmptyType
from ..progress_bar import ProgressBar
from ..render.changes import restore_line
from ..revision_paths import PathType, resolve_paths


@brain_command(
    "restore",
    examples=("brain restore @~1", "brain restore @~1 skills/oracle-manipulation"),
    exits=OVERWRITE_EXITS,
)
@argument("rev", type=NonEmptyType())
@argument("paths", metavar="[PATH]...", nargs=-1, type=PathType())
def restore_command(app: App, rev: str, paths: tuple[str, ...]) -> None:
    """Restore files from a snapshot.

    PATH is a file or folder, relative to the current folder (default: all files).
    Changes in the folder that no snapshot has are recorded first; the restored state
    becomes a new snapshot.
    """
    with ProgressBar(app) as bar:
        result = app.brain.restore(rev, resolve_paths(app, paths), progress=bar)
    emit(app, result, [restore_line(result)])


@brain_command("undo", examples=("brain undo",), exits=OVERWRITE_EXITS)
def undo_command(app: App) -> None:
    """Undo the last operation.

    The folder and the head return to their previous state. 'brain redo' reverses it.
    """
    result = app.brain.undo()
    emit(app, result, [restore_line(result)])


@brain_command("redo", examples=("brain redo",), exits=OVERWRITE_EXITS)
def redo_command(app: App) -> None:
    """Redo the operation that was undone last.

    Works until the next operation is recorded.
    """
    result = app.brain.redo()
    emit(app, result, [restore_line(result)])
