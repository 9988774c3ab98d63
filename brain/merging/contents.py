"""How the content of one path that both sides changed is merged.

Skills by `skills`; memory in JSON Lines and Markdown by lines, with what both
appended united; other text by lines; anything else not at all.
"""

from __future__ import annotations

from typing import NamedTuple

from .. import textdiff
from ..errors import InvalidInput
from ..objects import paths
from . import lines, records, skills
from .lines import Lines, Piece, Stretch

OURS, THEIRS, BOTH = "ours", "theirs", "both"
CHOICES = (OURS, THEIRS, BOTH)

MEMORY = "memory"


class Sides(NamedTuple):
    """The content of a path in the base (None if it was not there) and on either side."""

    base: bytes | None
    ours: bytes
    theirs: bytes


class Draft(NamedTuple):
    """A merged text in pieces; `skill` is set for a skill."""

    pieces: list[Piece]
    skill: skills.Merged | None


def draft(path: str, sides: Sides, slug: str) -> Draft | None:
    """Merge the content at the full `path`; `slug` is "" where it is no skill.

    None if there is no merging it: binary content, or a skill that cannot be read.
    """
    if slug:
        try:
            merged = skills.merge(*sides, slug)
        except InvalidInput:
            return None
        return Draft(merged.pieces, merged)
    if any(side is not None and textdiff.is_binary(side) for side in sides):
        return None
    base, ours, theirs = (lines.split(side or b"") for side in sides)
    settle = rule(path)
    if settle is not lines.contest:
        base, ours, theirs = map(records.ended, (base, ours, theirs))
    return Draft(lines.merge(base, ours, theirs, settle), None)


def finished(draft: Draft, choice: str | None) -> bytes | None:
    """Return the content of a draft, None if it is contested or no readable skill.

    Contested stretches are decided by `choice`, one of CHOICES, or by nobody.
    """
    if choice is None:
        content = lines.joined(draft.pieces)
    else:
        content = lines.settled(draft.pieces, _CHOOSE[choice])
    if content is not None and draft.skill is not None:
        try:
            skills.check(content, draft.skill.version)
        except InvalidInput:
            return None
    return content


def marked(draft: Draft, ours: str, theirs: str) -> bytes:
    """Return the text with markers around what is contested, as git's `diff3` style has them."""
    return lines.settled(draft.pieces, lambda stretch: _marked(stretch, ours, theirs))


def has_markers(content: bytes) -> bool:
    """Tell whether markers of `marked` are left in a text."""
    return any(line.startswith((b"<<<<<<< ", b">>>>>>> ")) for line in content.split(b"\n"))


def rule(path: str) -> lines.Settle:
    """Return how contested lines of the file at a full path are settled."""
    section, inner = paths.split(path)
    if section != MEMORY:
        return lines.contest
    for suffix, settle in records.RULES.items():
        if inner.lower().endswith(suffix):
            return settle
    return lines.contest


def _both(stretch: Stretch) -> Lines:
    first, second = sorted((stretch.ours, stretch.theirs))
    return records.ended(first) + second


_CHOOSE = {
    OURS: lambda stretch: stretch.ours,
    THEIRS: lambda stretch: stretch.theirs,
    BOTH: _both,
}


def _marked(stretch: Stretch, ours: str, theirs: str) -> Lines:
    ended = records.ended
    return [
        f"<<<<<<< {ours}\n".encode(),
        *ended(stretch.ours),
        b"||||||| base\n",
        *ended(stretch.base),
        b"=======\n",
        *ended(stretch.theirs),
        f">>>>>>> {theirs}\n".encode(),
    ]
