"""Find the path a skill had before it was renamed."""

from __future__ import annotations

from itertools import islice

from ...merging import diff3
from ...merging.line_matching import UNMATCHED, match_lines
from ...objects import bundle as bundles
from ...objects.tree_entry import LINK, TreeEntry
from ..open.session import Session
from ..read import skill_rows

_MIN_SIMILARITY = 0.5
"""The least part of equal lines at which a skill counts as renamed."""
_MAX_CANDIDATES = 64
_MAX_DIFFERENCES = 4096
"""The most differences of one snapshot that are read; a first import has more."""


def find_rename_source(
    session: Session, before: bytes, after: bytes, path: str
) -> TreeEntry | None:
    """Return the skill of snapshot `before` that `after` has at `path`, None for a new one.

    Of the removed skills it is the one with the same content, else the most similar one.
    Redacted content is similar to none.
    """
    was, now = session.bundle_of(before), session.bundle_of(after)
    entry = bundles.get_entry(session.nodes, now, path)
    if entry is None or entry.kind == LINK:
        return None
    differences = islice(bundles.diff_bundles(session.nodes, was, now), _MAX_DIFFERENCES)
    removed = [
        old
        for name, old, new in differences
        if old and not new and old.kind != LINK and skill_rows.may_be_skill(name)
    ]
    equal = [old for old in removed if old.blob == entry.blob]
    if equal or len(removed) > _MAX_CANDIDATES:
        return equal[0] if equal else None
    redacted = session.reader.find_redactions([entry.blob, *(old.blob for old in removed)])
    if entry.blob in redacted:
        return None
    lines = diff3.split_lines(session.reader.read_blob(entry.blob, entry.size))
    readable = [old for old in removed if old.blob not in redacted]
    scored = [(_line_similarity(session, old, lines), old.path, old) for old in readable]
    best = max(scored, default=None)
    return best[2] if best and best[0] >= _MIN_SIMILARITY else None


def _line_similarity(session: Session, old: TreeEntry, lines: list[bytes]) -> float:
    old_lines = diff3.split_lines(session.reader.read_blob(old.blob, old.size))
    common = sum(index != UNMATCHED for index in match_lines(lines, old_lines))
    return common / max(len(lines), len(old_lines), 1)
