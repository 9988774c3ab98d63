"""The command `brain grep`: search the text files of a revision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..command import argument, brain_command, flag
from ..context import App
from ..options import revision_option
from ..output import emit
from ..pager import paged
from ..params import NonEmptyType, PathType
from ..render.human_format import colorize
from ..revision_paths import resolve_paths
from ..terminal import escape

if TYPE_CHECKING:
    from brain.results import GrepMatch

_MAX_LINE_CHARS = 400


@brain_command(
    "grep",
    examples=(
        "brain grep TWAP",
        "brain grep -i 'flash ?loan' skills",
        "brain grep -F 'call{value:' --rev @~5",
    ),
)
@argument("pattern", type=NonEmptyType())
@argument("paths", metavar="[PATH]...", nargs=-1, type=PathType())
@revision_option("The snapshot to search.")
@flag("-i", "--ignore-case", help="Take upper and lower case as equal.")
@flag("-F", "--fixed", help="Search for PATTERN as plain text.")
@paged
def grep_command(
    app: App,
    pattern: str,
    paths: tuple[str, ...],
    rev: str | None,
    ignore_case: bool,
    fixed: bool,
) -> None:
    """Search skills and texts.

    PATTERN is a regular expression of Python, searched line by line. PATH is a file or
    folder, relative to the current folder (default: all). Binary files are passed over. A
    pattern that takes longer than two seconds for a file is refused.
    """
    found = app.brain.history.grep(
        pattern,
        rev or "@",
        ignore_case=ignore_case,
        fixed=fixed,
        paths=resolve_paths(app, paths),
    )
    emit(app, {"matches": list(found)} if app.as_json else None, _match_lines(app, found))


def _match_lines(app: App, found: Iterator[GrepMatch]) -> Iterator[str]:
    has_matches = False
    for match in found:
        has_matches = True
        text = match.text[:_MAX_LINE_CHARS] + ("…" if len(match.text) > _MAX_LINE_CHARS else "")
        yield f"{colorize(escape(match.path), 'magenta')}:{match.line}: {escape(text)}"
    if not has_matches:
        app.print_note("No line matches")
