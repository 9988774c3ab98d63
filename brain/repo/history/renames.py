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
"""Part of the lines that must be the same for a skill to count as moved."""
_MAX_CANDIDATES = 64
"""Skills that vanished in one snapshot among which the old one is looked for."""
_MAX_DIFFERENCES = 4096
"""Differences of one snapshot that are looked through; a first load has more."""


def find_rename_source(
    session: Session, before: bytes, after: bytes, path: str
) -> TreeEntry | None:
    """Return the skill of snapshot `before` that `after` has at `path`, if it came from one.

    Of those that vanished, the one with the same content, else the most alike. Content that
    was redacted is like none.
    """
    was, now = session.bundle_of(before), session.bundle_of(after)
    entry = bundles.get_entry(session.nodes, now, path)
    if entry is None or entry.kind == LINK:
        return None
    found = islice(bundles.diff_bundles(session.nodes, was, now), _MAX_DIFFERENCES)
    gone = [
        old
        for name, old, new in found
        if old and not new and old.kind != LINK and skill_rows.may_be_skill(name)
    ]
    same = [old for old in gone if old.blob == entry.blob]
    if same or len(gone) > _MAX_CANDIDATES:
        return same[0] if same else None
    lost = session.reader.find_redactions([entry.blob, *(old.blob for old in gone)])
    if entry.blob in lost:
        return None
    text = diff3.split_lines(session.reader.read_blob(entry.blob, entry.size))
    left = [old for old in gone if old.blob not in lost]
    scored = [(_line_similarity(session, old, text), old.path, old) for old in left]
    best = max(scored, default=None)
    return best[2] if best and best[0] >= _MIN_SIMILARITY else None


def _line_similarity(session: Session, old: TreeEntry, text: list[bytes]) -> float:
    other = diff3.split_lines(session.reader.read_blob(old.blob, old.size))
    common = sum(at != UNMATCHED for at in match_lines(text, other))
    return common / max(len(text), len(other), 1)
