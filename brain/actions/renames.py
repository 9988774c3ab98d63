"""Where a skill was before it got the path it has."""

from __future__ import annotations

from itertools import islice

from ..merging import lines
from ..merging.match import NONE, partners
from ..objects import bundle as bundles
from ..objects.entry import LINK, Entry
from ..session import Session
from . import derived

_ALIKE = 0.5
"""Part of the lines that must be the same for a skill to count as moved."""
_MOST = 64
"""Skills that vanished in one snapshot among which the old one is looked for."""
_SEEN = 4096
"""Differences of one snapshot that are looked through; a first load has more."""


def source(session: Session, before: bytes, after: bytes, path: str) -> Entry | None:
    """Return the skill of snapshot `before` that `after` has at `path`, if it came from one.

    Of those that vanished, the one with the same content, else the most alike. Content that
    was redacted is like none.
    """
    was, now = session.bundle_of(before), session.bundle_of(after)
    entry = bundles.get(session.nodes, now, path)
    if entry is None or entry.kind == LINK:
        return None
    found = islice(bundles.compare(session.nodes, was, now), _SEEN)
    gone = [
        old
        for name, old, new in found
        if old and not new and old.kind != LINK and derived.may_be_skill(name)
    ]
    same = [old for old in gone if old.blob == entry.blob]
    if same or len(gone) > _MOST:
        return same[0] if same else None
    lost = session.reader.redacted([entry.blob, *(old.blob for old in gone)])
    if entry.blob in lost:
        return None
    text = lines.split(session.reader.read_blob(entry.blob, entry.size))
    left = [old for old in gone if old.blob not in lost]
    scored = [(_likeness(session, old, text), old.path, old) for old in left]
    best = max(scored, default=None)
    return best[2] if best and best[0] >= _ALIKE else None


def _likeness(session: Session, old: Entry, text: list[bytes]) -> float:
    other = lines.split(session.reader.read_blob(old.blob, old.size))
    common = sum(at != NONE for at in partners(text, other))
    return common / max(len(text), len(other), 1)
