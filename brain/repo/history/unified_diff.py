"""Unified diffs, counts of changed lines, and changed files that no text diff can show."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import InvalidInput, NotFound
from ...folder import read
from ...merging import lines as line_diff
from ...objects import bundle as bundles
from ...objects.bundle import Bundle
from ...objects.tree_entry import ENTRY_KIND_NAMES
from ...results import Diff, DiffStat, FileState, PathChange, UndiffableFile
from ..open.session import Session

MAX_DIFF_BYTES = 128 << 20
"""The largest file whose lines are compared."""
BINARY, _TOO_LARGE = "binary", "too_large"
_GIT_MODES = ("100644", "100755", "120000")
"""Git's modes of FILE, EXECUTABLE and LINK."""


def build_diff_stats(session: Session, diff: Diff) -> list[DiffStat]:
    """Return how many lines each file of a diff gained and lost; -1 for binary files."""
    return [build_diff_stat(session, change, bool(diff.to)) for change in diff.changes]


def build_diff_stat(session: Session, change: PathChange, stored: bool = True) -> DiffStat:
    """Return the added and removed lines of a change; `stored` is as for `read_diff_sides`."""
    sides = read_diff_sides(session, change, stored)
    counts = (-1, -1) if isinstance(sides, str) else line_diff.count_changed_lines(*sides)
    return DiffStat(change.path, *counts)


def render_patch(session: Session, diff: Diff) -> Iterator[str]:
    """Yield a diff in git's unified format, one text per file; binary files only by name."""
    for change in diff.changes:
        source = change.from_path or change.path
        old_name = "/dev/null" if change.change == "added" else f"a/{source}"
        new_name = "/dev/null" if change.change == "removed" else f"b/{change.path}"
        lines = list(_render_mode_lines(*entry_kinds(session, diff, change)))
        if change.from_path:
            lines += [f"rename from {change.from_path}", f"rename to {change.path}"]
        sides = read_diff_sides(session, change, bool(diff.to))
        if not isinstance(sides, str):
            lines += line_diff.unified_diff(*sides, old_name, new_name)
        elif change.before != change.after:
            if sides == BINARY:
                lines.append(f"Binary files {old_name} and {new_name} differ")
            else:
                reason = sides.replace("_", " ")
                lines.append(f"Files {old_name} and {new_name} differ: {reason}")
        yield "".join(line + "\n" for line in lines)


def _render_mode_lines(old: int | None, new: int | None) -> Iterator[str]:
    if old is None and new:
        yield f"new file mode {_GIT_MODES[new]}"
    elif old is not None and new is not None and old != new:
        yield f"old mode {_GIT_MODES[old]}"
        yield f"new mode {_GIT_MODES[new]}"


def entry_kinds(session: Session, diff: Diff, change: PathChange) -> tuple[int | None, int | None]:
    """Return the kinds of a changed file before and after; None where it is absent."""
    old = (
        _entry_kind(session, diff.from_, change.from_path or change.path) if change.before else None
    )
    if change.after is None:
        return old, None
    if diff.to:
        return old, _entry_kind(session, diff.to, change.path)
    from ...folder.handles import entry_kind, lstat_or_none

    found = lstat_or_none(session.root / change.path)
    return old, None if found is None else entry_kind(found.st_mode)


def _entry_kind(session: Session, snapshot: str, path: str) -> int | None:
    entry = bundles.get_entry(session.nodes, session.bundle_of(bytes.fromhex(snapshot)), path)
    return entry.kind if entry else None


def read_diff_sides(
    session: Session, change: PathChange, stored: bool
) -> tuple[bytes, bytes] | str:
    """Return the content before and after, or why it cannot be compared.

    The reasons are "binary", "too_large" and "redacted". Unless it is `stored`, the content
    after may be read from the folder.
    """
    old = _read_side(session, change.before, change.from_path or change.path, stored=True)
    new = _read_side(session, change.after, change.path, stored=stored)
    if isinstance(new, str):
        return new
    if isinstance(old, str):
        return old
    return BINARY if line_diff.is_binary(old) or line_diff.is_binary(new) else (old, new)


def _read_side(session: Session, blob: str | None, path: str, *, stored: bool) -> bytes | str:
    if blob is None:
        return b""
    blob_id = bytes.fromhex(blob)
    try:
        size = session.reader.blob_size(blob_id)
    except NotFound as error:
        if error.code == "redacted":
            return "redacted"
        if stored:
            raise
        content = read.read_bounded_file(session.root, path, MAX_DIFF_BYTES)
        return _TOO_LARGE if content is None else content
    return session.reader.read_blob(blob_id) if size <= MAX_DIFF_BYTES else _TOO_LARGE


def find_undiffable(session: Session, diff: Diff) -> list[UndiffableFile]:
    """Return the files of a diff of two snapshots whose content `render_patch` does not show."""
    before, after = (session.bundle_of(bytes.fromhex(side)) for side in (diff.from_, diff.to))
    undiffable = []
    for change in diff.changes:
        reason = read_diff_sides(session, change, stored=True)
        if isinstance(reason, str) and change.before != change.after:
            source = change.from_path or change.path
            old = _describe_file_state(session, before, source) if change.before else None
            new = _describe_file_state(session, after, change.path) if change.after else None
            undiffable.append(UndiffableFile(change.path, change.from_path, reason, old, new))
    return undiffable


def refuse_undiffable(session: Session, diff: Diff) -> None:
    """Raise `InvalidInput` (`not_shown`) if a patch cannot show a file that is added or changed."""
    from ..core import working_copy

    undiffable = [file.path for file in find_undiffable(session, diff) if file.after is not None]
    if undiffable:
        raise InvalidInput(
            f"{working_copy.name_files(undiffable)} cannot be shown as text",
            code="not_shown",
            hint="`brain proposal show` tells what they are; accept them, too, with --binary",
        )


def _describe_file_state(session: Session, bundle: Bundle, path: str) -> FileState | None:
    entry = bundles.get_entry(session.nodes, bundle, path)
    return FileState(ENTRY_KIND_NAMES[entry.kind], entry.size, entry.blob.hex()) if entry else None
