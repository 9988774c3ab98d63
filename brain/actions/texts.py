"""The text of changes: lines counted, and unified diffs."""

from __future__ import annotations

import os
from collections.abc import Iterator

from .. import textdiff
from ..errors import NotFound
from ..objects import bundle as bundles
from ..results import Change, Diff, Stat
from ..session import Session
from ..worktree import reading

MAX_TEXT_BYTES = 128 << 20
"""Size up to which a file's lines are compared; a larger one is named only."""


BINARY, _TOO_LARGE = "binary", "too_large"
_MODES = ("100644", "100755", "120000")
"""How git writes the kinds of files, by their number."""


def stat(session: Session, diff: Diff) -> list[Stat]:
    """Return the lines each changed file gained and lost; -1 for binary files."""
    return [_stat(change, sides(session, change, bool(diff.to))) for change in diff.changes]


def stat_of(session: Session, change: Change) -> Stat:
    """Return the lines that a change gained and lost whose content is stored."""
    return _stat(change, sides(session, change, stored=True))


def _stat(change: Change, found: tuple[bytes, bytes] | str) -> Stat:
    return Stat(change.path, *((-1, -1) if isinstance(found, str) else textdiff.count(*found)))


def patch(session: Session, diff: Diff) -> Iterator[str]:
    """Yield a unified diff, a piece per file, each ending in a line end.

    As in git's, links and executable files have a line of their mode.
    """
    for change in diff.changes:
        source = change.from_path or change.path
        old_name = "/dev/null" if change.change == "added" else f"a/{source}"
        new_name = "/dev/null" if change.change == "removed" else f"b/{change.path}"
        lines = list(_modes(*kinds(session, diff, change)))
        if change.from_path:
            lines += [f"rename from {change.from_path}", f"rename to {change.path}"]
        found = sides(session, change, bool(diff.to))
        if not isinstance(found, str):
            lines += textdiff.unified(*found, old_name, new_name)
        elif change.before != change.after:
            binary = found == BINARY
            what, why = ("Binary files", "") if binary else ("Files", f": {found}")
            lines.append(f"{what} {old_name} and {new_name} differ{why.replace('_', ' ')}")
        yield "".join(line + "\n" for line in lines)


def _modes(old: int | None, new: int | None) -> Iterator[str]:
    if old is None and new:
        yield f"new file mode {_MODES[new]}"
    elif old is not None and new is not None and old != new:
        yield f"old mode {_MODES[old]}"
        yield f"new mode {_MODES[new]}"


def kinds(session: Session, diff: Diff, change: Change) -> tuple[int | None, int | None]:
    """Return of what kind a changed file was and is, as entries say it; None where none is."""
    old = _kind(session, diff.from_, change.from_path or change.path) if change.before else None
    if change.after is None:
        return old, None
    if diff.to:
        return old, _kind(session, diff.to, change.path)
    from ..worktree.stats import kind_of

    return old, kind_of(os.lstat(session.root / change.path).st_mode)


def _kind(session: Session, snapshot: str, path: str) -> int | None:
    entry = bundles.get(session.nodes, session.bundle_of(bytes.fromhex(snapshot)), path)
    return entry.kind if entry else None


def sides(session: Session, change: Change, stored: bool) -> tuple[bytes, bytes] | str:
    """Return the content before and after, or why it is no text to be compared.

    That is "binary", "too_large" or "redacted". Where not all is `stored`, what is after
    may be read from the folder.
    """
    old = _content(session, change.before, change.from_path or change.path, stored=True)
    new = _content(session, change.after, change.path, stored=stored)
    if isinstance(new, str):
        return new
    if isinstance(old, str):
        return old
    return BINARY if textdiff.is_binary(old) or textdiff.is_binary(new) else (old, new)


def _content(session: Session, blob: str | None, path: str, *, stored: bool) -> bytes | str:
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
        found = reading.read_whole(session.root, path, limit=MAX_TEXT_BYTES)
        return _TOO_LARGE if found is None else found
    return session.reader.read_blob(blob_id) if size <= MAX_TEXT_BYTES else _TOO_LARGE
