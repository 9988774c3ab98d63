"""The text of changes: lines counted, and unified diffs."""

from __future__ import annotations

from collections.abc import Iterator

from .. import textdiff
from ..errors import NotFound
from ..results import Change, Diff, Stat
from ..session import Session
from ..worktree import reading

MAX_TEXT_BYTES = 128 << 20
"""Size up to which a file's lines are compared; a larger one is named only."""


def stat(session: Session, diff: Diff) -> list[Stat]:
    """Return the lines each changed file gained and lost; -1 for binary files."""
    return [_stat(change, _sides(session, change, bool(diff.to))) for change in diff.changes]


def stat_of(session: Session, change: Change) -> Stat:
    """Return the lines that a change gained and lost whose content is stored."""
    return _stat(change, _sides(session, change, stored=True))


def _stat(change: Change, sides: tuple[bytes, bytes] | None) -> Stat:
    return Stat(change.path, *(textdiff.count(*sides) if sides else (-1, -1)))


def patch(session: Session, diff: Diff) -> Iterator[str]:
    """Yield a unified diff, a piece per file, each ending in a line end."""
    for change in diff.changes:
        source = change.from_path or change.path
        old_name = "/dev/null" if change.change == "added" else f"a/{source}"
        new_name = "/dev/null" if change.change == "removed" else f"b/{change.path}"
        lines = []
        if change.from_path:
            lines += [f"rename from {change.from_path}", f"rename to {change.path}"]
        sides = _sides(session, change, bool(diff.to))
        if sides is None:
            lines.append(f"Binary files {old_name} and {new_name} differ")
        else:
            lines += textdiff.unified(*sides, old_name, new_name)
        yield "".join(line + "\n" for line in lines)


def _sides(session: Session, change: Change, stored: bool) -> tuple[bytes, bytes] | None:
    """Return the content before and after, or None if it is not text to be compared."""
    old = _content(session, change.before, change.from_path or change.path, stored=True)
    new = _content(session, change.after, change.path, stored=stored)
    if old is None or new is None or textdiff.is_binary(old) or textdiff.is_binary(new):
        return None
    return old, new


def _content(session: Session, blob: str | None, path: str, *, stored: bool) -> bytes | None:
    if blob is None:
        return b""
    blob_id = bytes.fromhex(blob)
    try:
        size = session.reader.blob_size(blob_id)
    except NotFound as error:
        if error.code == "redacted":
            return None
        if stored:
            raise
        return reading.read_whole(session.root, path, limit=MAX_TEXT_BYTES)
    return session.reader.read_blob(blob_id) if size <= MAX_TEXT_BYTES else None
