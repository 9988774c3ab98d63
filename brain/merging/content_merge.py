"""Three-way merge of the content of one path that both sides changed.

A skill is merged by `skill_merge`; other text by lines. In memory files, what both
sides appended is united. Binary content is not merged. Line ends alone are no change.
"""

from __future__ import annotations

from typing import NamedTuple

from ..errors import InvalidInput
from ..objects import paths
from ..skills.skill_document import set_version
from . import lines, memory_merge, skill_merge
from .lines import ConflictHunk, ContentSides, MergePiece, TextLines, end_with_newline

OURS, THEIRS, BOTH = "ours", "theirs", "both"
MERGE_CHOICES = (OURS, THEIRS, BOTH)

Decision = str | bytes
"""OURS, THEIRS or BOTH, or the content itself."""

MEMORY_SECTION = "memory"

_OURS_MARKER, _BASE_MARKER, _SPLIT_MARKER, _THEIRS_MARKER = (mark * 7 for mark in "<|=>")
"""The lines around the sides of a conflict, as in git's `diff3` style."""


class DraftMerge(NamedTuple):
    """A merged text in pieces, some of which may be conflicts; `skill` is set for a skill.

    `line_ends` are those of the side that changed them, as of `lines.align_line_ends`; `notes` are
    the sides of notes in conflict.
    """

    pieces: list[MergePiece]
    skill: skill_merge.SkillMerge | None
    line_ends: str = ""
    notes: ContentSides | None = None


def draft_merge(path: str, sides: ContentSides, slug: str) -> DraftMerge | None:
    """Merge the contents of the full `path`; `slug` is "" unless it is that of a skill.

    Returns None for binary content and for a skill that cannot be read.
    """
    if not slug and any(side is not None and lines.is_binary(side) for side in sides):
        return None
    sides, line_ends = lines.align_line_ends(sides)
    if slug:
        try:
            merged = skill_merge.merge_skill(*sides, slug)
        except InvalidInput:
            return None
        return DraftMerge(merged.pieces, merged, line_ends)
    settle = settle_rule(path)
    is_notes = settle is memory_merge.settle_notes
    if is_notes and (content := memory_merge.merge_entries(sides)) is not None:
        return DraftMerge([[content]], None, line_ends)
    base, ours, theirs = (lines.split_lines(side or b"") for side in sides)
    if settle is not lines.leave_conflict:
        like = max(ours[:1], theirs[:1], key=lambda first: b"\r\n" in b"".join(first))
        base, ours, theirs = (
            end_with_newline(side, b"".join(like)) for side in (base, ours, theirs)
        )
    pieces = lines.merge_lines(base, ours, theirs, settle)
    in_conflict = any(isinstance(piece, ConflictHunk) for piece in pieces)
    return DraftMerge(pieces, None, line_ends, sides if is_notes and in_conflict else None)


def finish_merge(draft: DraftMerge, choice: Decision | None, slug: str = "") -> bytes | None:
    """Return the content of a draft with its conflicts settled by `choice`, None for none.

    A given content gets the version of the merge if it is that of a skill, of the `slug`. Returns
    None if a conflict remains, or if the text would be a skill that cannot be read.
    """
    try:
        if isinstance(choice, bytes):
            content = set_version(choice, draft.skill.version, slug) if draft.skill else choice
        elif (
            choice == BOTH
            and draft.notes
            and (both := memory_merge.merge_entries(draft.notes, keep_both=True))
        ):
            content = both
        elif choice is not None:
            content = lines.join_settled(draft.pieces, _SETTLE_BY_CHOICE[choice])
        elif (clean := lines.join_if_clean(draft.pieces)) is not None:
            content = clean
        else:
            return None
        if draft.skill is not None:
            skill_merge.check_merged_skill(content, draft.skill)
    except InvalidInput:
        return None
    return content


def format_with_markers(draft: DraftMerge, ours: str, theirs: str) -> bytes:
    """Return the text with conflict markers in git's `diff3` style."""
    return lines.join_settled(
        draft.pieces, lambda hunk: _format_hunk_with_markers(hunk, ours, theirs)
    )


def settle_rule(path: str) -> lines.SettleConflict:
    """Return the rule that settles conflicts in the file at a full path."""
    section, inner = paths.split_section(path)
    if section != MEMORY_SECTION:
        return lines.leave_conflict
    for suffix, settle in memory_merge.SETTLE_RULES.items():
        if inner.lower().endswith(suffix):
            return settle
    return lines.leave_conflict


def _join_both_sides(hunk: ConflictHunk) -> TextLines:
    first, second = sorted((hunk.ours, hunk.theirs))
    return end_with_newline(first) + second


_SETTLE_BY_CHOICE = {
    OURS: lambda hunk: hunk.ours,
    THEIRS: lambda hunk: hunk.theirs,
    BOTH: _join_both_sides,
}


def _format_hunk_with_markers(hunk: ConflictHunk, ours: str, theirs: str) -> TextLines:
    return [
        f"{_OURS_MARKER} {ours}\n".encode(),
        *end_with_newline(hunk.ours),
        f"{_BASE_MARKER} base\n".encode(),
        *end_with_newline(hunk.base),
        f"{_SPLIT_MARKER}\n".encode(),
        *end_with_newline(hunk.theirs),
        f"{_THEIRS_MARKER} {theirs}\n".encode(),
    ]
