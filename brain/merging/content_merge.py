"""Three-way merge of the content of one path that both sides changed.

Skills by `skills`; memory in JSON Lines and Markdown by lines, with what both
appended united; other text by lines; anything else not at all.
"""

from __future__ import annotations

from typing import NamedTuple

from ..errors import InvalidInput
from ..objects import paths
from ..util import line_diff
from . import diff3, document_merge, memory_merge
from .diff3 import ConflictHunk, MergePiece, TextLines

OURS, THEIRS, BOTH = "ours", "theirs", "both"
MERGE_CHOICES = (OURS, THEIRS, BOTH)

MEMORY_SECTION = "memory"


class ContentSides(NamedTuple):
    """The content of a path in the base (None if it was not there) and on either side."""

    base: bytes | None
    ours: bytes
    theirs: bytes


class DraftMerge(NamedTuple):
    """A merged text in pieces; `skill` is set for a skill."""

    pieces: list[MergePiece]
    skill: document_merge.SkillMerge | None


def draft_merge(path: str, sides: ContentSides, slug: str) -> DraftMerge | None:
    """Merge the content at the full `path`; `slug` is "" where it is no skill.

    None if there is no merging it: binary content, or a skill that cannot be read.
    """
    if slug:
        try:
            merged = document_merge.merge_skill(*sides, slug)
        except InvalidInput:
            return None
        return DraftMerge(merged.pieces, merged)
    if any(side is not None and line_diff.is_binary(side) for side in sides):
        return None
    base, ours, theirs = (diff3.split_lines(side or b"") for side in sides)
    settle = settle_rule(path)
    if settle is not diff3.leave_conflict:
        base, ours, theirs = map(memory_merge.end_with_newline, (base, ours, theirs))
    return DraftMerge(diff3.merge_lines(base, ours, theirs, settle), None)


def finish_merge(draft: DraftMerge, choice: str | None) -> bytes | None:
    """Return the content of a draft, None if it is contested or no readable skill.

    Contested stretches are decided by `choice`, one of CHOICES, or by nobody.
    """
    if choice is None:
        content = diff3.join_if_clean(draft.pieces)
    else:
        content = diff3.join_settled(draft.pieces, _SETTLE_BY_CHOICE[choice])
    if content is not None and draft.skill is not None:
        try:
            document_merge.check_merged_skill(content, draft.skill.version)
        except InvalidInput:
            return None
    return content


def format_with_markers(draft: DraftMerge, ours: str, theirs: str) -> bytes:
    """Return the text with markers around what is contested, as git's `diff3` style has them."""
    return diff3.join_settled(
        draft.pieces, lambda hunk: _format_hunk_with_markers(hunk, ours, theirs)
    )


def has_conflict_markers(content: bytes) -> bool:
    """Tell whether markers of `marked` are left in a text."""
    return any(line.startswith((b"<<<<<<< ", b">>>>>>> ")) for line in content.split(b"\n"))


def settle_rule(path: str) -> diff3.SettleConflict:
    """Return how contested lines of the file at a full path are settled."""
    section, inner = paths.split_section(path)
    if section != MEMORY_SECTION:
        return diff3.leave_conflict
    for suffix, settle in memory_merge.SETTLE_RULES.items():
        if inner.lower().endswith(suffix):
            return settle
    return diff3.leave_conflict


def _join_both_sides(hunk: ConflictHunk) -> TextLines:
    first, second = sorted((hunk.ours, hunk.theirs))
    return memory_merge.end_with_newline(first) + second


_SETTLE_BY_CHOICE = {
    OURS: lambda hunk: hunk.ours,
    THEIRS: lambda hunk: hunk.theirs,
    BOTH: _join_both_sides,
}


def _format_hunk_with_markers(hunk: ConflictHunk, ours: str, theirs: str) -> TextLines:
    ended = memory_merge.end_with_newline
    return [
        f"<<<<<<< {ours}\n".encode(),
        *ended(hunk.ours),
        b"||||||| base\n",
        *ended(hunk.base),
        b"=======\n",
        *ended(hunk.theirs),
        f">>>>>>> {theirs}\n".encode(),
    ]
