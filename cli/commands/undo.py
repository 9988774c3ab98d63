"""Commands that restore an earlier state: restore, undo, redo, and the operation log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..command import OVERWRITE_EXITS, argument, brain_command, option
from ..context import App
from ..output import emit
from ..params import CountType, NonEmptyType, PathType
from ..progress_bar import ProgressBar
from ..render.changes import restore_line
from ..render.human_format import align_columns, local_time
from ..revision_paths import is_path, resolve_paths, separate_skills
from ..terminal import escape

if TYPE_CHECKING:
    from brain.results import Operation, Undone


@brain_command(
    "restore",
    examples=(
        "brain restore @~1",
        "brain restore @~1 skills/oracle-manipulation",
        "brain restore oracle-manipulation@1",
    ),
    exits=OVERWRITE_EXITS,
)
@argument("rev", metavar="[REV]", type=NonEmptyType())
@argument("paths", metavar="[PATH]...", nargs=-1, type=PathType())
def restore_command(app: App, rev: str, paths: tuple[str, ...]) -> None:
    """Bring back files or a skill.

    SKILL@VERSION restores the files of a skill as they were in that version; SKILL, and PATH
    without REV, are files of the head. PATH is a file or folder, relative to the current
    folder (default: all files). Changes in the folder that no snapshot has are recorded
    first; the restored state becomes a new snapshot.
    """
    revisions, skills = separate_skills(app, [rev])
    if not skills and is_path(app, rev):
        revisions, paths = [], (rev, *paths)
    chosen = [*(skill.path for skill in skills), *resolve_paths(app, paths)]
    with ProgressBar(app) as bar:
        result = app.brain.restore("".join(revisions) or "@", chosen, progress=bar)
    emit(app, result, [restore_line(result)])


@brain_command("undo", examples=("brain undo",), exits=OVERWRITE_EXITS)
def undo_command(app: App) -> None:
    """Undo the last operation.

    Says what it was. The folder, the branch and its head return to their previous state; the
    undo of a switch goes back to the branch before it. 'brain redo' reverses it. Operations on
    other branches stay.
    """
    result = app.brain.undo()
    emit(app, result, _undone_lines("Undid", result))


@brain_command("redo", examples=("brain redo",), exits=OVERWRITE_EXITS)
def redo_command(app: App) -> None:
    """Redo what was undone last.

    Says what it was. Works until the next operation is recorded.
    """
    result = app.brain.redo()
    emit(app, result, _undone_lines("Redid", result))


def _undone_lines(verb: str, result: Undone) -> list[str]:
    return [
        f"{verb}: {escape(result.description)}, on {escape(result.branch)}",
        restore_line(result),
    ]


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
